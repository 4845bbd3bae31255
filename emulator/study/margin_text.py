"""The margins of an answer in words, and what the study did not try."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emulator.report.wording import duration, figure, joined
from emulator.scenario.units import parse_duration
from emulator.study.margins import Margin, Neighbour
from emulator.study.plan import Plan

Figure = Callable[[Neighbour], str]
"""Returns how a neighbour is worse, in words."""


def margin_sentence(margin: Margin, worse: Figure) -> str:
    """Return whether a value stands at an edge, and which value leaves a margin."""
    value, below, above = _value(margin), margin.below, margin.above
    if below and above and margin.edges == 2:
        return f"{value} has no margin: {worse(below)}, and {worse(above)}. Between them nothing was tried."
    if below and below.is_worse:
        return (
            f"{value} is the smallest value tried that is as good: {worse(below)}. "
            f"{_spare(margin, above, 'larger')}"
        )
    if above and above.is_worse:
        return (
            f"{value} is the largest value tried that is as good: {worse(above)}. "
            f"{_spare(margin, below, 'smaller')}"
        )
    if below and above:
        both = f"{value} has a margin on both sides: {below.label} and {above.label} are as good."
        return " ".join([both, *_edges(margin, worse)])
    end, other = ("smallest", above) if above else ("largest", below)
    assert other is not None, "a margin has a neighbour"
    beyond = "smaller" if above else "larger"
    text = (
        f"{value} is the {end} value tried, and {other.label} is as good: a {beyond} one may be better "
        "or worse, and was not tried."
    )
    return " ".join([text, *_edges(margin, worse)])


def _value(margin: Margin) -> str:
    """Return the value of a margin, with the values of the other settings at which it holds."""
    value = f"{margin.axis}={margin.label}"
    return f"With {', '.join(margin.others)}: {value}" if margin.others else value


def _edges(margin: Margin, worse: Figure) -> Iterator[str]:
    """Yield how far the edges are at which a value stops being as good."""
    for edge, kind in ((margin.smallest, "smallest"), (margin.largest, "largest")):
        if edge is not None:
            good, bad = edge
            yield (
                f"{good.label} is the {kind} value tried that is as good, which leaves "
                f"{_distance(margin, good)} of margin: {worse(bad)}."
            )


def _spare(margin: Margin, other: Neighbour | None, kind: str) -> str:
    """Return which value on the safe side leaves how much of a margin."""
    if other is None:
        return f"No {kind} value was tried, so no margin is known."
    return f"{other.label} has {_distance(margin, other)} of margin."


def _distance(margin: Margin, other: Neighbour) -> str:
    distance = abs(other.number - margin.number)
    try:
        parse_duration(other.label)
    except ValueError:
        return figure(distance)
    return duration(distance)


def neighbours_text(margins: tuple[Margin, ...]) -> str:
    """Return the neighbours of a cell for a column of a table."""
    several = len(margins) > 1
    return "; ".join(
        f"{f'{margin.axis} ' if several else ''}{', '.join(_judged(margin))}" for margin in margins
    )


def _judged(margin: Margin) -> Iterator[str]:
    for each, kind in ((margin.below, "smaller"), (margin.above, "larger")):
        if each is None:
            yield f"no {kind} one tried"
        else:
            yield f"{each.label} is {'worse' if each.is_worse else 'as good'}"


def not_tried(plan: Plan) -> str:
    """Return a sentence about the values and settings that a study leaves open."""
    study = plan.study
    ranges = [text for axis in study.vary if (text := _outside(plan, axis.name))]
    others = joined([axis.name for axis in study.vary])
    rest = f"any setting but {others}" if others else "any other setting"
    return f"Not tried: {'; '.join([*ranges, rest])}."


def _outside(plan: Plan, axis: str) -> str:
    choices = {
        choice.label: choice.number
        for cell in plan.cells
        for choice in cell.settings.point
        if choice.axis == axis
    }
    numbers = {label: number for label, number in choices.items() if number is not None}
    if len(numbers) < 2 or len(numbers) < len(choices):
        return ""
    least, most = min(numbers, key=lambda x: numbers[x]), max(numbers, key=lambda x: numbers[x])
    return f"{axis} below {least}, above {most}, or between the {len(numbers)} values"
