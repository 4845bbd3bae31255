"""The options of an audit, parsed and checked before any work.

Begin and end offsets are given as lines ``topic:partition:offset``, as Kafka's
``kafka-get-offsets.sh`` prints them, or as JSON: ``{"orders-0": 471}`` or
``{"orders": [471, 470]}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.limits import parser_words, refuse_deep
from emulator.logs.audit.columns import time_us
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.ledger import Expectation, read_expectation
from emulator.logs.audit.output import objection
from emulator.logs.audit.partitions import Limits
from emulator.logs.audit.passes import Audited, Terms
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError
from emulator.scenario.problems import few_listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of an audit, as the user gives them."""

    logs: tuple[str, ...]
    columns: tuple[str, ...]
    time_unit: str | None
    format: str | None
    ends: Path | None
    begins: Path | None
    cut: str | None
    commits: tuple[Path, ...]
    group: str | None
    expect: tuple[str, ...]
    output: Path | None
    engine: str
    master: str | None

    def document(self) -> dict[str, Any]:
        """Return the options that affect the result, as JSON values."""
        return {
            "logs": list(self.logs),
            "columns": list(self.columns),
            "time_unit": self.time_unit,
            "format": self.format,
            "ends": None if self.ends is None else str(self.ends),
            "begins": None if self.begins is None else str(self.begins),
            "t_end": self.cut,
            "commits": [str(path) for path in self.commits],
            "group": self.group,
        }


@dataclass(frozen=True, slots=True)
class Parsed:
    """The options as values; the offsets log has been read."""

    columns: Mapping[str, str]
    """The log's columns by their content, if the user names them."""

    terms: Terms
    committed: Committed | None
    expectations: tuple[Expectation, ...]


def parse_request(request: Request) -> Parsed:
    """Read all inputs of the options except the logs; raise AuditError for invalid ones."""
    columns = column_names(request.columns)
    expectations = tuple(map(read_expectation, request.expect))
    if request.output is not None and (reason := objection(request.output)) is not None:
        raise AuditError(f"`output={request.output}`: cannot be written: {reason}")
    end_us = None if request.cut is None else _cut(request)
    committed = _committed(request)
    return Parsed(columns, _terms(request, end_us, committed), committed, expectations)


def _committed(request: Request) -> Committed | None:
    """Read the offsets log, if one is given; import its modules only then."""
    if not request.commits:
        return None
    from emulator.logs.audit.committed import read_committed  # noqa: PLC0415

    return read_committed(request.commits, request.group)


def column_names(texts: Sequence[str]) -> dict[str, str]:
    """Return the columns of a log by their content, from texts such as ``offset=msg_offset``."""
    return dict(_column(text) for text in texts)


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not (name and equals and column):
        raise AuditError(f"`columns` {text}: expected NAME=COLUMN, such as offset=msg_offset")
    return name, column


def _cut(request: Request) -> int:
    assert request.cut is not None, "called only with a cut"
    try:
        return time_us(request.cut, request.time_unit)
    except AuditError as error:
        raise AuditError(f"`t_end`: {error}") from None


def _terms(request: Request, end_us: int | None, committed: Committed | None) -> Terms:
    """Return begin, end and committed offset of each partition.

    Without a cut the logs may end at different times: a commit beyond the processed records may
    cover work that is not in the processing log.
    """
    ends = {} if request.ends is None else read_offsets(request.ends, "ends")
    begins = {} if request.begins is None else read_offsets(request.begins, "begins")
    names = {*ends, *begins, *(committed.commits if committed is not None else ())}
    limits = {
        name: Limits(
            begin=begins.get(name),
            end=ends.get(name),
            committed=committed.last(name, end_us) if committed and end_us else None,
        )
        for name in sorted(names)
    }
    return Terms(end_us=end_us, limits=limits)


Offsets = dict[PartitionName, int]

_WANTED = 'expected lines such as orders:0:471, or JSON such as {"orders-0": 471} or {"orders": [471, 470]}'


def read_offsets(path: Path, argument: str) -> Offsets:
    """Read a file of offsets; *argument*: its name in messages. Raise AuditError if it is invalid."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise AuditError(f"`{argument}={path}`: cannot be read: {reason}") from None
    try:
        refuse_deep(text)
        pairs = list(_of_json(json.loads(text)) if text.lstrip()[:1] == "{" else _of_lines(text))
    except (ValueError, RecursionError) as error:
        raise AuditError(f"`{argument}={path}`: {parser_words(error)}; {_WANTED}") from None
    if not pairs:
        raise AuditError(f"`{argument}={path}`: contains no partition; {_WANTED}")
    return dict(pairs)


def _of_lines(text: str) -> Iterator[tuple[PartitionName, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        topic, _, rest = line.strip().rpartition(":")
        topic, _, partition = topic.rpartition(":")
        if not (topic and _is_count(partition) and _is_count(rest)):
            raise ValueError(f"line {number} is {line.strip()[:80]!r}")
        yield PartitionName(topic, int(partition)), int(rest)


def _of_json(document: Any) -> Iterator[tuple[PartitionName, int]]:
    for name, value in document.items():
        if isinstance(value, list):
            for number, offset in enumerate(value):
                yield PartitionName(name, number), _offset(f"{name}-{number}", offset)
            continue
        topic, _, number = name.rpartition("-")
        if not (topic and _is_count(number)):
            raise ValueError(f"{name!r} is not a partition")
        yield PartitionName(topic, int(number)), _offset(name, value)


def _offset(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not an offset of {name}")
    return value


def _is_count(text: str) -> bool:
    return text.isdecimal() and text.isascii()


def refuse_other_topics(audited: Audited, terms: Terms, committed: Committed | None) -> None:
    """Raise AuditError if an argument names none of the topics of the log.

    Otherwise topics with other names would count as partitions that no consumer processed.
    """
    mine = _topics(part.name for part in audited.partitions if part.processed)
    limits = terms.limits.items()
    _refuse("`ends`", mine, _topics(name for name, each in limits if each.end is not None))
    _refuse("`begins`", mine, _topics(name for name, each in limits if each.begin is not None))
    if committed is not None:
        argument = f"`commits`, of group {committed.group}"
        _refuse(argument, mine, _topics(committed.commits))


def _refuse(argument: str, mine: list[str], theirs: list[str]) -> None:
    if theirs and set(mine).isdisjoint(theirs):
        raise AuditError(
            f"{argument}: its topics are {few_listed(theirs)}, those of the log {few_listed(mine)}: use "
            "the topic names of Kafka in both"
        )


def remarks(audited: Audited, terms: Terms) -> Iterator[str]:
    """Yield remarks on partitions without a beginning or end offset."""
    worked = [part.name for part in audited.partitions if part.processed]
    ends = any(each.end is not None for each in terms.limits.values())
    lacking = [str(name) for name in worked if terms.of(name).end is None]
    if ends and lacking:
        yield f"No end is given of {few_listed(lacking)}: unread records there are not counted."
    if ends and all(terms.of(name).begin is None for name in worked):
        yield (
            "Each partition is counted from its lowest processed offset; with begin offsets, records "
            "that were skipped before it are counted, too."
        )


def _topics(names: Iterable[PartitionName]) -> list[str]:
    return sorted({name.topic for name in names})
