"""What a user asks of ``rebalance audit``: the options, read and checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.logs.audit.auditing import Terms
from emulator.logs.audit.bounds import read_offsets
from emulator.logs.audit.columns import time_us
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.committed import read_committed
from emulator.logs.audit.ledger import Expectation, read_expectation
from emulator.logs.audit.output import objection
from emulator.logs.audit.partitions import Limits
from emulator.logs.errors import AuditError


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of the command."""

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
        """Return what bears on the result, as JSON values."""
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
class Read:
    """The options as values."""

    wanted: Mapping[str, str]
    terms: Terms
    committed: Committed | None
    expectations: tuple[Expectation, ...]


def read_request(request: Request) -> Read:
    """Read all that the options name but the logs; raise AuditError for what cannot be used."""
    wanted = dict(_column(text) for text in request.columns)
    expectations = tuple(map(read_expectation, request.expect))
    if request.output is not None and (reason := objection(request.output)) is not None:
        raise AuditError(f"-o {request.output}: cannot be written: {reason}")
    if request.group is not None and not request.commits:
        raise AuditError("--group says whose commits count, and there is no --commits")
    end_us = None if request.cut is None else _cut(request)
    committed = read_committed(request.commits, request.group) if request.commits else None
    return Read(wanted, _terms(request, end_us, committed), committed, expectations)


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not (name and equals and column):
        raise AuditError(f"--column {text}: expected NAME=COLUMN, such as offset=msg_offset")
    return name, column


def _cut(request: Request) -> int:
    assert request.cut is not None, "asked only where there is one"
    try:
        return time_us(request.cut, request.time_unit)
    except AuditError as error:
        raise AuditError(f"--t-end: {error}") from None


def _terms(request: Request, end_us: int | None, committed: Committed | None) -> Terms:
    """Return begin, end and committed offset of each partition.

    Without a cut nothing says that both logs end at the same time: a commit beyond what was
    processed may be of work that the processing log does not cover.
    """
    ends = {} if request.ends is None else read_offsets(request.ends, "--ends")
    begins = {} if request.begins is None else read_offsets(request.begins, "--begins")
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
