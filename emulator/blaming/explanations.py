"""The explanations of an incident: a client with its commit policy, and what happened, with their fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp

from assignors.values import dataclass
from emulator.blaming.figures import Figures, Range
from emulator.blaming.happening import Happening
from emulator.blaming.policies import Policy
from emulator.blaming.setup import Table

CLIENTS_DIFFER = 0.15
"""Clients with one policy whose distances differ by less are not told apart, nor are policies that differ
only at a revocation or in the call, nor closes after a batch and in it: one run of a client differs from the next
one by as much."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another client or call, or another way to close, that explains about as much."""

    policy: Policy
    happening: Happening
    distance: float

    @property
    def fit(self) -> float:
        """The fit in percent, as that of an explanation."""
        return fit_of(self.distance)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One policy with one happening, and how well it explains what was seen."""

    policy: Policy
    happening: Happening
    scenario: Table
    """As a scenario file has it."""

    figures: Mapping[str, Range]

    distance: float
    """The mean difference of all figures from what was seen, each divided by its tolerance, with
    ``CONTRADICTION`` for each figure that cannot be, and how unusual the explanation is."""

    contradicted: tuple[str, ...] = ()
    """The figures that cannot be as seen."""

    alike: tuple[Alternative, ...] = ()
    """The same policy and happening with clients that fit about as well, and other ways to close that do."""

    @property
    def words(self) -> str:
        """The policies and the happening."""
        readers: dict[str, Alternative] = {}
        for each in self.alike:
            if each.policy.reader != self.policy.reader:
                readers.setdefault(each.policy.reader, each)
        clients = (name + self._fit_if_different(each) for name, each in readers.items())
        calls = {
            each.policy.name + self._fit_if_different(each): None
            for each in self.alike
            if each.policy.name != self.policy.name
        }
        named = {
            each.happening.words + self._fit_if_different(each): None
            for each in self.alike
            if each.happening.name != self.happening.name
        }
        policy = f"{self.policy.words}{_or(calls)}{_or(clients)}"
        return f"{policy}; {self.happening.words}{_or(named)}"

    def _fit_if_different(self, each: Alternative) -> str:
        """Return the fit of an alternative if it is not the same."""
        shown = f"{each.fit:.0f} %"
        return "" if shown == f"{self.fit:.0f} %" else f", {shown}"

    @property
    def middle(self) -> Figures:
        """The median of each figure."""
        return {name: each[1] for name, each in self.figures.items()}

    @property
    def fit(self) -> float:
        """The fit in percent: 100 if all figures are as seen."""
        return fit_of(self.distance)


def fit_of(distance: float) -> float:
    """Return the fit in percent of a distance."""
    return 100 * exp(-distance)


def _or(words: Iterable[str]) -> str:
    return "".join(f" (or {each})" for each in words)


def merged(ranked: Sequence[Explanation]) -> list[Explanation]:
    """Return explanations with those that these logs do not tell from a better one as its alternatives."""
    heads: list[Explanation] = []
    for each in ranked:
        place = next((place for place, head in enumerate(heads) if _is_alike(head, each)), None)
        if place is None:
            heads.append(each)
            continue
        other = Alternative(each.policy, each.happening, each.distance)
        heads[place] = replace(heads[place], alike=(*heads[place].alike, other))
    return heads


def _is_alike(head: Explanation, other: Explanation) -> bool:
    """Return whether another explanation has the same policy, and differs too little from a better one."""
    if (head.policy.family, head.happening.family) != (other.policy.family, other.happening.family):
        return False
    if tuple(head.figures.values()) == tuple(other.figures.values()):
        return True
    return other.distance - head.distance <= CLIENTS_DIFFER
