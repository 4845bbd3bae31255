"""What ``rebalance blame`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from emulator.blaming.figures import AFTER, BEFORE, NEVER_S, Figure, Figures
from emulator.blaming.symptoms import Symptoms
from emulator.blaming.trials import Blame, Explanation, told_apart_by
from emulator.report.wording import counted, paragraph, printable

SHOWN = 5
"""Explanations in the list; in the table of figures, the first three of them."""

_IN_TABLE = 3
GOOD = 70
"""An explanation that fits less, in percent, leaves much of what was seen unexplained."""

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
        words = f"{each.policy.name}; {each.happening.words}"
        yield from paragraph(printable(words), f"  {place}  {each.fit:3.0f} %  ", " " * 12)
    yield ""
    yield from _table(blame.seen, shown[:_IN_TABLE])
    if shown[0].fit < GOOD:
        yield ""
        yield from paragraph(_no_good_one(blame.seen, shown[0]))
    yield ""
    yield from _apart(blame.seen, shown)


def _no_good_one(seen: Figures, best: Explanation) -> str:
    """Return that even the best explanation does not fit, and what contradicts it most."""
    known = {**BEFORE, **AFTER}
    off = {name: each.difference(best.figures[name][1], seen[name]) for name, each in known.items()}
    worst = sorted(off, key=lambda name: -off[name])[:3]
    parts = (
        f"{known[name].words}: {_value(known[name], seen[name])} seen, "
        f"{_value(known[name], best.figures[name][1])} explained"
        for name in worst
    )
    return (
        f"None of them fits well. What contradicts the first one most: {'; '.join(parts)}. Something "
        "else may have happened, or several things; the logs may be cut, or --from and --to may leave "
        "out its begin."
    )


def _seen(symptoms: Symptoms, seen: Figures) -> str:
    parts = [
        f"{each.consumer} finished no record from {_time(each.stopped_us)} "
        + ("on" if each.resumed_us is None else f"to {_time(each.resumed_us)}")
        for each in symptoms.stops
    ]
    parts += [f"{name} processed its first record at {_time(at)}" for name, at in symptoms.joined]
    parts += [
        f"{counted(int(seen['generations']), 'new generation')}",
        f"{counted(int(seen['repeated']), 'record')} processed again",
        f"{counted(int(seen['skipped']), 'record')} never processed",
    ]
    return f"from {moment(symptoms.onset_us)} (UTC) on, {'; '.join(parts)}."


def _time(at_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%H:%M:%S.%f")[:-5]


def _table(seen: Figures, shown: Sequence[Explanation]) -> Iterator[str]:
    """Yield the figures: as seen, and the median of the runs of each explanation."""
    columns = [str(place) for place in range(1, len(shown) + 1)]
    yield f"{'':50}{'seen':>9}" + "".join(f"{column:>9}" for column in columns)
    for name, figure in {**BEFORE, **AFTER}.items():
        unit = f" ({figure.unit})" if figure.unit else ""
        values = [seen[name], *(each.figures[name][1] for each in shown)]
        cells = "".join(f"{_value(figure, value):>9}" for value in values)
        yield f"{figure.words + unit:50}{cells}".rstrip()


def _value(figure: Figure, value: float) -> str:
    if figure.unit == "s" and (value == NEVER_S or value >= 3_600):
        return "-"
    return f"{value:,.1f}" if figure.unit == "s" else f"{value:,.0f}"


def _apart(seen: Figures, shown: Sequence[Explanation]) -> Iterator[str]:
    """Yield what tells the best explanation from each other one, and what the logs lack."""
    best = shown[0]
    known = {**BEFORE, **AFTER}
    for place, other in enumerate(shown[1:], 2):
        apart = told_apart_by(best, other)[:2]
        if not apart:
            looked = (
                other.happening.trace if other.happening != best.happening else other.policy.trace
            )
            words = f"these logs do not tell them apart; {place} would have left: {looked}"
        else:
            words = "; ".join(
                f"{known[name].words}: {_value(known[name], best.figures[name][1])} or "
                f"{_value(known[name], other.figures[name][1])}, seen "
                f"{_value(known[name], seen[name])}"
                for name in apart
            )
        yield from paragraph(printable(f"1 or {place}: {words}."), "", "  ")
