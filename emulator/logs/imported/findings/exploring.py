"""Findings about all groups of an import, in one process; ``emulator.spark`` does the same on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from emulator.logs.imported.findings.assessing import assess
from emulator.logs.imported.findings.values import WEEK_MS, Assumptions, GroupFindings
from emulator.logs.imported.history.of_group import History
from emulator.logs.imported.history.progress import Progress
from emulator.logs.imported.history.steps import (
    COMMIT_COLUMNS,
    GROUP_COLUMNS,
    GROUP_ORDER,
    ORDER,
    STEPS,
    Names,
    Step,
    histories,
    names_in,
    progresses,
    rows_of,
    step_of_owner,
    steps_of_commits,
)
from emulator.logs.imported.tables import COMMITS

_COMMITS: Final = pa.schema([COMMITS.field(name) for name in COMMIT_COLUMNS])

BATCH_ROWS: Final = 10_000

Found = History | Progress


def last_ms(commits: pa.Table, groups: pa.Table) -> int:
    """Return the time of the last record of all; 0 if there are none."""
    times = [pc.max(table["timestamp"]).as_py() for table in (commits, groups)]
    return max((each for each in times if each is not None), default=0)


def explore(
    commits: pa.Table,
    groups: pa.Table,
    *,
    names: Names | None = None,
    assumptions: Assumptions | None = None,
) -> Iterator[GroupFindings]:
    """Yield findings about each group, sorted by its id.

    *commits*, *groups*: rows of an import, in any order. *names*, *assumptions*: where these are
    not all of its rows, topics by their ids, and what holds for all of it.
    """
    names = names_in(commits) if names is None else names
    assumptions = assumptions or Assumptions(WEEK_MS, last_ms(commits, groups))
    known, owners = told_by(groups, names)
    steps = steps_of(commits, owners)
    del commits, groups, owners  # as large as the steps, and not needed any more
    yield from assessed([known, progresses(steps.to_batches(BATCH_ROWS))], assumptions)


def told_by(groups: pa.Table, names: Names) -> tuple[list[History], list[Step]]:
    """Return what groups' own records tell: histories, sorted by group, and owners as steps."""
    known, owners = list[History](), list[Step]()
    ordered = groups.select(GROUP_COLUMNS).sort_by([(name, "ascending") for name in GROUP_ORDER])
    for told in histories(rows_of(ordered.to_batches(BATCH_ROWS))):
        if isinstance(told, History):
            known.append(told)
        else:
            owners.append(step_of_owner(*told, names))
    return known, owners


def steps_of(commits: pa.Table, owners: Sequence[Step]) -> pa.Table:
    """Return all steps, sorted."""
    columns = list(zip(*owners, strict=True)) or [() for _ in STEPS.names]
    owned = pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, STEPS, strict=True)],
        schema=STEPS,
    )
    plain = commits.select(COMMIT_COLUMNS).cast(_COMMITS)
    steps = pa.concat_tables([steps_of_commits(plain), owned])
    return steps.sort_by([(name, "ascending") for name in ORDER])


def assessed(
    streams: Iterable[Iterable[Found]], assumptions: Assumptions
) -> Iterator[GroupFindings]:
    """Yield findings about each group, from streams of what is known, each sorted by group."""
    together = merge(*streams, key=lambda each: each.group)
    for _, found in groupby(together, key=lambda each: each.group):
        history, partitions = None, list[Progress]()
        for each in found:
            if isinstance(each, History):
                history = each
            else:
                partitions.append(each)
        yield assess(history, partitions, assumptions)
