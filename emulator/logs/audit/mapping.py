"""Which column of a processing log holds what.

=========== ===================================================== ============================
name        what it holds                                         found as, unless said
=========== ===================================================== ============================
topic       the topic                                             topic
partition   the partition's number                                partition
offset      the offset of one record                              offset
lo, hi      or a range of offsets, ``hi`` not among them          lo and hi, first and next
last        or its last offset, with ``lo``                       first and last
consumer    who processed it                                      consumer, member, client_id
incarnation which life of the consumer it was; may be missing     incarnation
start       when work on it began; may be missing                 start, started, began
end         when it was finished                                  end, ended, finished, timestamp
=========== ===================================================== ============================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.logs.audit.errors import AuditError
from emulator.scenario.problems import hint, listed

FOUND_AS: Mapping[str, tuple[str, ...]] = {
    "topic": ("topic",),
    "partition": ("partition",),
    "offset": ("offset",),
    "lo": ("lo", "first"),
    "hi": ("hi", "next"),
    "last": ("last",),
    "consumer": ("consumer", "member", "client_id"),
    "incarnation": ("incarnation",),
    "start": ("start", "started", "began"),
    "end": ("end", "ended", "finished", "timestamp"),
}
NEEDED = ("topic", "partition", "consumer", "end")

EVENTS_COLUMNS = frozenset({"id", "at_us", "kind", "consumer", "topic", "first", "next", "rest"})
"""A table with all these is the events of an emulated run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The columns of one log, by what they hold."""

    topic: str
    partition: str
    consumer: str
    end: str
    offset: str | None = None
    lo: str | None = None
    hi: str | None = None
    last: str | None = None
    start: str | None = None
    incarnation: str | None = None
    """Tells apart processes of one consumer name."""

    events: bool = False
    """Whether rows are events of a run, of which only the processed ranges count."""

    @property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        names = (self.topic, self.partition, self.consumer, self.incarnation, self.end, self.start)
        offsets = (self.offset, self.lo, self.hi, self.last, "kind" if self.events else None)
        return list(dict.fromkeys(name for name in (*names, *offsets) if name is not None))

    @property
    def texts(self) -> list[str]:
        """The columns whose text repeats."""
        more = () if self.incarnation is None else (self.incarnation,)
        return [self.topic, self.consumer, *more]


def map_columns(there: Sequence[str], wanted: Mapping[str, str], where: str) -> Mapped:
    """Return which columns of *there* hold what; *wanted* names some of them.

    Raise AuditError, with the nearest names, where a column is missing or not known.
    """
    for name, column in wanted.items():
        if name not in FOUND_AS:
            near = hint(name, FOUND_AS)
            raise AuditError(f"--column {name}={column}: no such name{near}; {_names()}")
        if column not in there:
            near = hint(column, there)
            raise AuditError(
                f"--column {name}={column}: {where} has no column {column!r}{near}; "
                f"there are {listed(there)}"
            )
    if not wanted and set(there) >= EVENTS_COLUMNS:
        return _of_events()
    found = {name: wanted.get(name) or _default(name, there) for name in FOUND_AS}
    for name in NEEDED:
        if found[name] is None:
            raise AuditError(_missing(name, there, where))
    mapped = Mapped(**_offsets(found, wanted, there, where))
    for column in mapped.columns:
        if there.count(column) > 1:
            raise AuditError(
                f"{where}: there are {there.count(column)} columns {column!r}; write the log with "
                "names that tell them apart"
            )
    return mapped


def _of_events() -> Mapped:
    return Mapped(
        topic="topic",
        partition="partition",
        consumer="consumer",
        end="at_us",
        lo="first",
        hi="next",
        events=True,
    )


def _default(name: str, there: Sequence[str]) -> str | None:
    return next((column for column in FOUND_AS[name] if column in there), None)


def _offsets(
    found: dict[str, str | None], wanted: Mapping[str, str], there: Sequence[str], where: str
) -> dict[str, Any]:
    """Leave one way to tell offsets: those of one record, or a range."""
    ranged = found["lo"] is not None and (found["hi"] or found["last"]) is not None
    if ranged and "offset" not in wanted:
        left_out = {"offset", "last" if found["hi"] is not None and "last" not in wanted else "hi"}
    elif found["offset"] is not None:
        left_out = {"lo", "hi", "last"}
    else:
        raise AuditError(_missing("offset", there, where))
    return {
        name: column
        for name, column in found.items()
        if column is not None and name not in left_out
    }


def _missing(name: str, there: Sequence[str], where: str) -> str:
    near = next((each for known in FOUND_AS[name] if (each := hint(known, there))), "")
    more = ", nor lo and hi, nor first and last" if name == "offset" else ""
    return (
        f"{where}: no column holds the {name} (looked for {listed(FOUND_AS[name])}{more}){near}; "
        f"say which with --column {name}=NAME; there are {listed(there)}"
    )


def _names() -> str:
    return f"names are {listed(FOUND_AS)}"
