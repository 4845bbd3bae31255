"""What ``rebalance blame`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from emulator.blaming.explanations import Explanation
from emulator.blaming.figures import FIGURES, NEVER_S, Figures, misfits
from emulator.blaming.symptoms import Symptoms
from emulator.blaming.trials import Blame, told_apart_by
from emulator.report.wording import counted, paragraph, printable

SHOWN = 5
"""Explanations in the list; in the table of figures, the first three of them."""

_IN_TABLE = 3
GOOD = 70
"""An explanation that fits less, in percent, leaves much of what was seen unexplained."""

_NAMED = 3
"""Figures that are named of those that do not fit."""

_NO_GOOD_ONE = (
    "None of them fits well. Something else may have happened, or several things; the logs may be "
    "cut, or --from and --to may leave out its beginning."
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(at_us: int) -> str:
    """Return a time of day with its date (UTC)."""
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%d %H:%M:%S")


def blame_screen(blame: Blame) -> Iterator[str]:
    """Yield the lines: what was seen, the explanations, their figures, what tells them apart."""
    yield from paragraph(printable(f"What was seen: {_seen(blame.symptoms, blame.seen)}"))
    yield ""
    shown = blame.explanations[:SHOWN]
    yield f"Explanations, the best of {counted(len(blame.explanations), 'that was tried', 'that were tried')}:"
    yield ""
    for place, each in enumerate(shown, 1):
        yield from paragraph(printable(each.words), f"  {place}  {each.fit:3.0f} %  ", " " * 12)
    yield ""
    yield from _table(blame.seen, shown[:_IN_TABLE])
    yield ""
    yield from _misfits(blame, shown)
    yield ""
    yield from _apart(blame.seen, shown)


def _misfits(blame: Blame, shown: Sequence[Explanation]) -> Iterator[str]:
    """Yield for each explanation the figures that do not fit."""
    seen = blame.seen
    if shown[0].fit < GOOD:
        yield from paragraph(_NO_GOOD_ONE)
    for place, each in enumerate(shown, 1):
        off = misfits(each.figures, seen, blame.figures)
        parts = (
            f"{FIGURES[name].words}: {_value(name, seen)} seen, "
            f"{_value(name, each.middle)} explained"
            + (" (contradicts it)" if name in each.contradicted else "")
            for name in off[:_NAMED]
        )
        more = f"; {len(off) - _NAMED} more" if len(off) > _NAMED else ""
        words = f"does not fit: {'; '.join(parts)}{more}" if off else "every figure fits"
        yield from paragraph(f"{place}: {words}.", "", "  ")


def _seen(symptoms: Symptoms, seen: Figures) -> str:
    parts = [
        f"{each.consumer} finished no record from {_time(each.stopped_us)} "
        + ("on" if each.resumed_us is None else f"to {_time(each.resumed_us)}")
        for each in symptoms.stops
    ]
    parts += [f"{name} processed its first record at {_time(at)}" for name, at in symptoms.joined]
    parts += [
        f"{counted(int(seen['generations']), 'new generation')}",
        f"{counted(int(seen['repeated']), 'record')} reprocessed",
        f"{counted(int(seen['skipped']), 'record')} never processed",
    ]
    return f"from {moment(symptoms.onset_us)} (UTC) on, {'; '.join(parts)}."


def _time(at_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%H:%M:%S.%f")[:-5]


def _table(seen: Figures, shown: Sequence[Explanation]) -> Iterator[str]:
    """Yield the figures: as seen, and the median of the runs of each explanation."""
    columns = [str(place) for place in range(1, len(shown) + 1)]
    yield f"{'':50}{'seen':>9}" + "".join(f"{column:>9}" for column in columns)
    rows = [seen, *(each.middle for each in shown)]
    for name, figure in FIGURES.items():
        unit = f" ({figure.unit})" if figure.unit else ""
        cells = "".join(f"{_value(name, row):>9}" for row in rows)
        yield f"{figure.words + unit:50}{cells}".rstrip()


def _value(name: str, figures: Figures) -> str:
    value = figures[name]
    if FIGURES[name].unit != "s":
        return f"{value:,.0f}"
    return "-" if value == NEVER_S or value >= 3_600 else f"{value:,.1f}"


def _apart(seen: Figures, shown: Sequence[Explanation]) -> Iterator[str]:
    """Yield what tells the best explanation from each other one, and what the logs lack."""
    best = shown[0]
    for place, other in enumerate(shown[1:], 2):
        figures = "; ".join(
            f"{FIGURES[name].words}: {_value(name, best.middle)} or "
            f"{_value(name, other.middle)}, seen {_value(name, seen)}"
            for name in told_apart_by(best, other)[:2]
        )
        words = figures or "these logs do not tell them apart"
        left = f"{place} would have left: {_left_by(best, other)}"
        yield from paragraph(printable(f"1 or {place}: {words}. {left}."), "", "  ")


def _left_by(best: Explanation, other: Explanation) -> str:
    """Return what an explanation leaves in other logs and settings, and the best one does not."""
    if other.happening.name != best.happening.name:
        return other.happening.trace
    return other.policy.trace
