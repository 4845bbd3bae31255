"""Lines of a story, and the refrains in it: what comes again and again is told once and counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulator.report.coordination import LogPosition

LONGEST_REFRAIN = 8
"""Lines of the longest refrain that is looked for."""

_PERIODS = range(1, LONGEST_REFRAIN + 1)
_FEWEST_TIMES = 3
_PASSING = re.compile(r"(?<=commit )\S+|(?<=log offset )\d+|(?<=high watermark )\d+")
"""What is not worth a word where it alone differs from one time to the next."""

_COUNTING = re.compile(
    r"(?:the last of \d+ polls that hand|poll hands)(?= )"
    r"|\d+(?:\.\.\d+)? \(\d+ records?\)"
    r"|(?<= = )\d+(?= in )"
)
"""What may differ as well if it is told how far it came: how many records, and which."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the sequence."""

    at_us: int
    text: str
    event: int
    """Id of the event, of the first one where a line stands for several."""

    shown: bool = False
    """Whether the entry's own chain names it."""

    began_us: int | None = None
    """Of work: when it began; ``at_us`` is its end."""

    log: LogPosition | None = None
    """Where in the offsets log it stands, of a commit or a failover."""


def without_refrains(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines; where some of them come again and again, the first time and how often.

    A refrain is up to ``LONGEST_REFRAIN`` lines that come three times or more in a row, but for
    numbers the same. What goes on like it, if not always in its order, belongs to it; a line that
    the chain shows never does after the first time.
    """
    shapes = [_COUNTING.sub("", _PASSING.sub("", line.text)) for line in lines]
    at = 0
    while at < len(lines):
        repeated = {period: _end_of_repeats(lines, shapes, at, period) for period in _PERIODS}
        period, end = max(repeated.items(), key=lambda found: found[1] - found[0])
        if end - at < _FEWEST_TIMES * period:
            yield lines[at]
            at += 1
            continue
        end = _end_of_like(lines, shapes, at, period, end)
        yield from lines[at : at + period]
        yield _repetitions(lines, shapes, at, period, end)
        at = end


def _end_of_repeats(lines: Sequence[Line], shapes: Sequence[str], at: int, period: int) -> int:
    """Return where whole repetitions of the *period* lines from *at* on end; *at* for too few."""
    end = at + period
    while end < len(lines) and shapes[end] == shapes[end - period] and not lines[end].shown:
        end += 1
    end -= (end - at) % period
    return end if end - at >= _FEWEST_TIMES * period else at


def _end_of_like(
    lines: Sequence[Line], shapes: Sequence[str], at: int, period: int, end: int
) -> int:
    """Return how far behind *end* there is nothing but lines of the refrain, in whatever order."""
    refrain = set(shapes[at : at + period])
    while end < len(lines) and shapes[end] in refrain and not lines[end].shown:
        end += 1
    return end


def _repetitions(
    lines: Sequence[Line], shapes: Sequence[str], at: int, period: int, end: int
) -> Line:
    """Return the line that stands for all of a refrain but its first time."""
    told, left = lines[at : at + period], end - at - period
    last = dict(zip(shapes[at + period : end], lines[at + period : end], strict=True))
    if period == 1:
        text = f"the same {left} more times, until here"
    elif left % period or shapes[at : end - period] != shapes[at + period : end]:
        text = f"lines like these {period}, {left} more of them until here"
    else:
        text = f"these {period} lines {left // period} more times, until here"
    ends = [last[shape].text for shape in dict.fromkeys(shapes[at : at + period])]
    if [_PASSING.sub("", line.text) for line in told] != [_PASSING.sub("", each) for each in ends]:
        text += f"; the last {'time' if period == 1 else 'of each'}: {'; '.join(ends)}"
    return Line(lines[end - 1].at_us, text, lines[end - 1].event)
