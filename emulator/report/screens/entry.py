"""Show one entry of a ledger and the sequence of events that led to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from assignors.values import dataclass
from emulator.ledger.entries import Entry, EntryKind, Owner
from emulator.report.event_wording import GENERATION
from emulator.report.fault_wording import fault_text
from emulator.report.starts import named
from emulator.report.wording import counted, paragraph

VERBS = {
    EntryKind.REPROCESSED: ("was reprocessed", "were reprocessed"),
    EntryKind.LOST: ("was lost", "were lost"),
    EntryKind.TRUNCATED: (
        "was truncated before processing",
        "were truncated before processing",
    ),
    EntryKind.PARTIAL: (
        "was in flight when its process ended",
        "were in flight when their process ended",
    ),
}


def entry_screen(
    title: str,
    entry: Entry,
    lines: Sequence[Line],
    moment: Callable[[int], str],
    term: Callable[[int], str] = lambda _: GENERATION,
) -> Iterator[str]:
    """Yield the entry in a few lines, then the events step by step.

    *term*: what the group counts at a time: generations or epochs.
    """
    yield from paragraph(title)
    yield ""
    offsets = (
        f"offsets {entry.first} to {entry.last}" if entry.count > 1 else f"offset {entry.first}"
    )
    verb = VERBS[entry.kind][entry.count > 1]
    text = f"{entry.topic_partition}, {offsets}: {counted(entry.count, 'record')} {verb}"
    yield from paragraph(text, f"{entry.id}  ")
    if entry.cause is not None:
        detail = f" ({entry.detail})" if entry.detail else ""
        yield from paragraph(f"{entry.cause}{detail}", "    cause:    ")
    if entry.root is not None:
        root = f"{fault_text(entry.root)} at {moment(entry.root.at_us)} ({entry.root.id})"
        yield from paragraph(root, "    root:     ")
    yield from _owners(entry, moment, term)
    yield ""
    yield from _event_lines(lines, moment)
    yield from ("", "* evidence of the cause")


def _owners(
    entry: Entry, moment: Callable[[int], str], term: Callable[[int], str]
) -> Iterator[str]:
    """Yield the owners of the records; for truncated records, only the owner at that time."""
    first, then = entry.first_owner, entry.second_owner
    if entry.kind is EntryKind.TRUNCATED:
        yield from paragraph(_name(first) if first else "none", "    owner:    ")
        return
    yield from paragraph(_owner(first, moment, term), "    first:    ")
    if entry.kind is not EntryKind.PARTIAL:
        yield from paragraph(_owner(then, moment, term), "    second:   ")


def _event_lines(lines: Sequence[Line], moment: Callable[[int], str]) -> Iterator[str]:
    """Yield the lines; a range is shown at its end, with its start if other lines lie between."""
    shown_us: list[int] = []
    for line in lines:
        text, began_us = line.text, line.began_us
        if began_us is not None and any(began_us < at_us < line.at_us for at_us in shown_us):
            text = f"{text}, started at {moment(began_us)}"
        yield from paragraph(text, f"  {moment(line.at_us)} {'*' if line.shown else ' '} ")
        shown_us.append(line.at_us)


def _owner(owner: Owner | None, moment: Callable[[int], str], term: Callable[[int], str]) -> str:
    if owner is None:
        return "none"
    return f"{_name(owner)}, {term(owner.at_us)} {owner.generation}, {moment(owner.at_us)}"


def _name(owner: Owner) -> str:
    return owner.consumer if owner.incarnation == 1 else named(owner.consumer, owner.incarnation)


LONGEST_PERIOD = 8
"""The maximum number of lines that are repeated together."""

_PERIODS = range(1, LONGEST_PERIOD + 1)
_MIN_TIMES = 3
_PASSING = re.compile(r"(?<=commit )\S+|(?<=log offset )\d+|(?<=high watermark )\d+")
"""Parts of a line that are not mentioned if only they differ between repetitions."""

_COUNTING = re.compile(
    r"(?:\d+ polls have returned|poll returns)(?= )"
    r"|\d+(?:\.\.\d+)? \(\d+ records?\)"
    r"|(?<= = )\d+(?= in )"
)
"""Parts that may also differ if their progress is shown: number of records, and which records."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The position of an event in an offsets partition; None: not known."""

    partition: int
    log_offset: int | None
    """The log offset of the record, or of the next one if there is no record."""

    high_watermark: int | None
    leader_epoch: int | None
    broker: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the sequence of events."""

    at_us: int
    text: str
    event: int | None
    """Id of the control event, the first if the line represents several; None: a data event."""

    shown: bool = False
    """Whether the entry's own chain contains it."""

    began_us: int | None = None
    """Of processing: when it began; ``at_us`` is its end."""

    log: LogPosition | None = None
    """Of a commit or a failover: its position in the offsets log."""


def collapse_repetitions(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines; of repeated lines, the first repetition and their number.

    A block of up to ``LONGEST_PERIOD`` lines is repeated if it occurs at least three times in a row,
    equal except for numbers. Following lines of the same kinds, in any order, belong to it; a line
    that the chain contains belongs to it only in the first repetition.
    """
    shapes = [_COUNTING.sub("", _PASSING.sub("", line.text)) for line in lines]
    at = 0
    while at < len(lines):
        repeated = {period: _end_of_repeats(lines, shapes, at, period) for period in _PERIODS}
        period, end = max(repeated.items(), key=lambda found: found[1] - found[0])
        if end - at < _MIN_TIMES * period:
            yield lines[at]
            at += 1
            continue
        end = _end_of_like(lines, shapes, at, period, end)
        yield from lines[at : at + period]
        yield _repetitions(lines, shapes, at, period, end)
        at = end


def _end_of_repeats(lines: Sequence[Line], shapes: Sequence[str], at: int, period: int) -> int:
    """Return the end of whole repetitions of the *period* lines from *at* on; *at* if too few."""
    end = at + period
    while end < len(lines) and shapes[end] == shapes[end - period] and not lines[end].shown:
        end += 1
    end -= (end - at) % period
    return end if end - at >= _MIN_TIMES * period else at


def _end_of_like(
    lines: Sequence[Line], shapes: Sequence[str], at: int, period: int, end: int
) -> int:
    """Return the end of the lines behind *end* that are lines of the repeated block, in any order."""
    repeated = set(shapes[at : at + period])
    while end < len(lines) and shapes[end] in repeated and not lines[end].shown:
        end += 1
    return end


def _repetitions(
    lines: Sequence[Line], shapes: Sequence[str], at: int, period: int, end: int
) -> Line:
    """Return the line that represents all repetitions of a block after the first."""
    block, left = lines[at : at + period], end - at - period
    last = dict(zip(shapes[at + period : end], lines[at + period : end], strict=True))
    if period == 1:
        text = f"the same {left} more times, until here"
    elif left % period or shapes[at : end - period] != shapes[at + period : end]:
        text = f"lines like these {period}, {left} more of them until here"
    else:
        text = f"these {period} lines {left // period} more times, until here"
    ends = [last[shape].text for shape in dict.fromkeys(shapes[at : at + period])]
    if [_PASSING.sub("", line.text) for line in block] != [_PASSING.sub("", each) for each in ends]:
        text += f"; the last {'time' if period == 1 else 'of each'}: {'; '.join(ends)}"
    return Line(lines[end - 1].at_us, text, lines[end - 1].event)
