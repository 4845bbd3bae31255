"""Several rebalances in a row in which the members were replaced: a deploy, probably."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from emulator.logs.imported.history.reasons import Explained, Reason, forming

TOGETHER_WITHIN_MS: Final = 180_000
"""Changes that lie no further apart are of one series."""

FEWEST_RENEWED: Final = 2
_SHARE: Final = 0.5
_MOST_TIMES: Final = 2
"""Members that come and go more often than that are not being deployed: they flap."""


@dataclass(frozen=True, slots=True)
class Deploy:
    """A series of changes in which members were replaced."""

    from_ms: int
    to_ms: int
    rebalances: int
    renewed: int
    """Members that came while as many went, or came back."""

    members: int
    """The most there were."""


def deploys(changes: Sequence[Explained]) -> list[Deploy]:
    """Return the deploys, in the order of time."""
    found = (_deploy(series) for series in _series(changes))
    return [each for each in found if each is not None]


def _series(changes: Sequence[Explained]) -> Iterator[list[Explained]]:
    series: list[Explained] = []
    for each in changes:
        if each.reason is Reason.DELETED:
            continue
        if series and _gap_ms(series[-1], each) > TOGETHER_WITHIN_MS:
            yield series
            series = []
        series.append(each)
    if series:
        yield series


def _gap_ms(one: Explained, other: Explained) -> int:
    return other.change.place.at_ms - one.change.place.at_ms


def _deploy(series: Sequence[Explained]) -> Deploy | None:
    """Return the deploy that a series is, looked at from when the group was there until it went."""
    most = max(each.change.members for each in series)
    inner = _while_there(series, most)
    if not inner:
        return None
    came = sum(each.change.joined_count for each in inner)
    went = sum(each.change.left_count for each in inner)
    back = {seen for each in inner for seen in _static(each)}
    renewed = min(came, went) + len(back)
    if not max(FEWEST_RENEWED, _SHARE * most) <= renewed <= _MOST_TIMES * most:
        return None
    rebalances = sum(each.is_rebalance for each in inner)
    first, last = inner[0].change.place.at_ms, inner[-1].change.place.at_ms
    return Deploy(first, last, rebalances, renewed, most)


def _while_there(series: Sequence[Explained], most: int) -> list[Explained]:
    """Return a series without how the group forms and ends."""
    there = [number for number, each in enumerate(series) if each.change.members >= _SHARE * most]
    inner = series[there[0] : there[-1] + 1]
    untouched = takewhile(lambda each: not each.change.left and not each.change.rejoined, series)
    formed = [id(each) for each in forming(list(untouched))]
    return [each for each in inner if id(each) not in formed]


def _static(each: Explained) -> Iterator[str]:
    """Yield the static members that came back; one that did so twice counts once."""
    yield from (seen.name for seen in each.change.rejoined)
