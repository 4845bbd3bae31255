"""Choose what an audit counts of a run's events: the work of one group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.logs.audit.reading import Source
from emulator.logs.audit.rows import PROCESSED
from emulator.logs.errors import AuditError
from emulator.scenario.problems import hint, listed

COLUMNS = ("kind", "group", "topic")


def of_group(source: Source, group: str | None, *, selects_commits: bool) -> Source:
    """Return a log with the work of *group* only, if it holds the events of a run.

    *selects_commits*: whether *group* selects commits, too. Raise AuditError if a group is named and
    the log is no such file or has no such group, or if none is named and groups share a topic: what
    both process would count as reprocessed.
    """
    if not source.mapped.events:
        if group is not None and not selects_commits:
            raise AuditError(
                "`group` selects commits, so it needs `commits`; without them only the events of a run "
                "have groups"
            )
        return source
    topics = _topics(source)
    if group is None:
        shared = _sharing(topics)
        if shared:
            raise AuditError(
                f"{source.name}: the groups {listed(shared)} process the same topic, which is no "
                "duplicate: choose one with `group`"
            )
        return source
    if group not in topics:
        raise AuditError(
            f"`group={group}`: {source.name} has no work of this group{hint(group, topics)}; "
            f"there are {listed(sorted(topics))}"
        )
    return replace(source, mapped=replace(source.mapped, of_group=group))


def _topics(source: Source) -> dict[str, set[str]]:
    """Return the topics that each group has processed."""
    found = defaultdict[str, set[str]](set)
    for kind, group, topic in _rows(source):
        if kind in PROCESSED:
            found[group].add(topic)
    return found


def _rows(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield kinds, groups and topics of the events; each combination once for each batch."""
    for file in source.files:
        if file.format != "parquet" or file.uri:
            continue
        for batch in pq.ParquetFile(file.place).iter_batches(columns=list(COLUMNS)):
            rows = pa.Table.from_batches([batch]).group_by(list(COLUMNS)).aggregate([])
            columns = (rows.column(name).to_pylist() for name in COLUMNS)
            yield from sorted(row for row in zip(*columns, strict=True) if None not in row)


def _sharing(topics: dict[str, set[str]]) -> list[str]:
    """Return the groups that share a topic with another one."""
    return sorted(
        group
        for group, mine in topics.items()
        if any(mine & theirs for other, theirs in topics.items() if other != group)
    )
