"""Changes that hints recommend, and trials of them, as plain values."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from assignors.values import dataclass
from emulator.metrics.distribution import Comparison, compare
from emulator.metrics.metrics import Metrics, pairs_of

if TYPE_CHECKING:
    from emulator.verdicts.disqualifying import Disqualified


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a scenario that may reduce what its run showed."""

    id: str
    """A section of ``docs/reference/advice.md``."""

    hint: str
    """The id of the hint from which it follows."""

    group: str
    why: str
    """One sentence, with the scenario's own numbers."""

    settings: tuple[str, ...]
    """What to change in reality: ``name=value`` of clients or brokers, or words for what is no
    setting of Kafka."""

    overrides: tuple[str, ...]
    """The same in the scenario, as ``path=value``."""

    of_risk: bool = False
    """Whether its hint is about a risk that the run did not show."""

    of_several: bool = False
    """Whether the same change is proposed for another group, too."""

    @property
    def title(self) -> str:
        """The id, with the group if several groups have a change of this id."""
        return f"{self.id} of {self.group}" if self.of_several else self.id


HEADLINE: Final = {
    "reprocessed": "reprocessed",
    "lost": "lost",
    "truncated": "truncated",
    "compacted_unread": "compacted unread",
    "processed_by_neither": "processed by neither group",
    "processed_by_both": "processed by both groups",
    "takeover_last_s": "takeover",
    "downtime_max_s": "longest downtime",
    "downtime_total_s": "summed downtime",
    "rebalances": "rebalances",
}
"""The metrics by which a trial is judged; less is better."""

REFUSED: Final = {"commits_refused": "refused commits"}
"""The metric by which a trial is judged too, where commits are refused without the change."""

LAG: Final = {"lag_processed_peak": "peak lag"}
"""The metric by which a trial is judged too, where lag is the problem."""

JUDGED: Final = {**HEADLINE, **REFUSED, **LAG}

RECORDS: Final = (
    "reprocessed",
    "lost",
    "truncated",
    "processed_by_neither",
    "processed_by_both",
)
"""The main figures in records; the others are times and counts."""

GONE: Final = ("lost", "truncated", "processed_by_neither")
"""Those of records that the group never processes."""

RANKED_BY: Final = (
    "reprocessed",
    "processed_by_both",
    "downtime_total_s",
    *REFUSED,
    *LAG,
)
"""The metrics that order changes that lose as little, the most important first."""

PRICES: Final = dict.fromkeys(
    (
        "commit-more-often",
        "longer-grace",
        "longer-initial-delay",
        "longer-poll-interval",
        "longer-session",
        "shorter-poll-interval",
        "shorter-session",
        "smaller-batches",
        "larger-batches",
        "heartbeats-per-session",
        "smaller-metadata-age",
        "reset-to-earliest",
    ),
    0,
) | dict.fromkeys(
    ("cooperative", "consumer-protocol", "eager", "own-group-id", "assignor-in-two-steps"), 2
)
"""What a change costs: 0 a value of a setting, 2 a migration of a running group in two restarts; any
other costs 1: code, names, members."""

ONLY_FEWER: Final = ("rebalances", *REFUSED)
"""Main figures of which more is no harm by itself: what it costs is in the others."""

MIN_SHARE: Final = 0.05
"""A difference below this share of the value before is no effect."""


class Effect(enum.StrEnum):
    """What a change does to the main figures."""

    BETTER = "better"
    MIXED = "mixed"
    UNCLEAR = "unclear"
    """Some figures fall in some seeds and rise in others; none changes in one direction."""

    NONE = "no effect"
    DISQUALIFIED = "disqualified"
    """Its runs must not be called better, for a reason that those without it do not have."""

    WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A scenario played with and without a change, under the same seeds."""

    proposal: Proposal
    seeds: tuple[int, ...]
    before: tuple[Metrics, ...]
    after: tuple[Metrics, ...]
    problems: tuple[str, ...] = ()
    """Sentences of problems that only runs with the change had."""

    solved: tuple[str, ...] = ()
    """Sentences of problems that no run with the change had."""

    disqualified: tuple[Disqualified, ...] = ()
    """Why the runs with the change must not be called best."""

    without_it: tuple[Disqualified, ...] = ()
    """The same of the runs without it."""

    of_lag: bool = False
    """Whether lag is a problem of the runs without it, or of those with it."""

    missed: int = 0
    """Runs with the change in which a fault did not fire."""

    @property
    def effect(self) -> Effect:
        """What the change does, all main figures together."""
        if self.new_reasons:
            return Effect.DISQUALIFIED
        differences = self.differences().values()
        better = any(value < 0 for value in differences) or bool(self.solved)
        worse = any(value > 0 for value in differences) or bool(self.problems) or self._rises()
        if better and worse:
            return (
                Effect.BETTER if self.removes_all or self.saves_all or self.cures else Effect.MIXED
            )
        if better:
            return Effect.BETTER
        if any(value > 0 for value in differences) or self.problems:
            return Effect.WORSE
        return Effect.UNCLEAR if self.unclear() else Effect.NONE

    def _rises(self) -> bool:
        """Return whether the mean of a main figure rises, although it falls in some seeds."""
        return any(each.mean.value > 0 for each in self.unclear().values())

    @property
    def new_reasons(self) -> tuple[Disqualified, ...]:
        """The reasons against the change that fewer runs, or none, have without it."""
        runs = {each.reason: each.runs for each in self.without_it}
        return tuple(each for each in self.disqualified if each.runs > runs.get(each.reason, 0))

    @property
    def mark(self) -> str:
        """Why the change is disqualified, in the words of a cell; empty: it is not."""
        return self._marked(self.new_reasons)

    @property
    def mark_of_both(self) -> str:
        """Why neither the runs with the change nor those without it are a success; empty: no reason."""
        new = self.new_reasons
        return self._marked([each for each in self.disqualified if each not in new])

    def _marked(self, reasons: Sequence[Disqualified]) -> str:
        from emulator.verdicts.disqualifying import mark  # noqa: PLC0415  most runs try no change

        return mark(reasons, len(self.after))

    @property
    def removes_all(self) -> bool:
        """Whether no records are reprocessed, lost or truncated any more, at whatever price in time.

        False if there were none before, with a problem that only runs with the change have, and if
        its runs must not be called best.
        """
        before, after = (
            sum(mean_of(name, runs) or 0.0 for name in RECORDS)
            for runs in (self.before, self.after)
        )
        return before > 0 and after == 0 and not self.problems and not self.disqualified

    @property
    def saves_all(self) -> bool:
        """Whether no records are lost or truncated any more, although more may be reprocessed.

        Records that are processed twice are still there. False as for :attr:`removes_all`.
        """
        before, after = (
            sum(mean_of(name, runs) or 0.0 for name in GONE) for runs in (self.before, self.after)
        )
        return before > 0 and after == 0 and not self.problems and not self.disqualified

    @property
    def cures(self) -> bool:
        """Whether runs are disqualified without the change and not with it, and repeat or lose no more."""
        found = self.differences()
        unclear = self.unclear()
        more = any(found.get(name, 0.0) > 0 for name in RECORDS)
        more |= any(unclear[name].mean.value > 0 for name in RECORDS if name in unclear)
        return bool(self.without_it) and not (self.disqualified or self.problems or more)

    @property
    def rank(self) -> tuple[Any, ...]:
        """The place among other trials: by effect, losses, problems, duplicates, downtime, lag, and price.

        Of changes that lose as little, the one that removes more problems is first: the report begins
        with them. Figures that differ by less than a tenth of the value before count as equal, so that the
        cheaper change comes first. One whose runs are disqualified comes behind all others, but for
        those that lose more records.
        """
        found = self.differences()
        loses_more = any(found.get(name, 0.0) > 0 for name in GONE)
        places = [found.get(name, 0.0) for name in (*GONE, *RANKED_BY)]
        lost, others = self._tenths(GONE), self._tenths(RANKED_BY)
        price = PRICES.get(self.proposal.id, 1)
        effect = [*Effect].index(self.effect)
        solved = -len(self.solved)
        return loses_more, bool(self.disqualified), effect, lost, solved, others, price, places

    def _tenths(self, names: Sequence[str]) -> list[int]:
        """Return the differences in tenths of the values before."""
        found = self.differences()
        return [round(10 * found.get(name, 0.0) / (self.means(name)[0] or 1.0)) for name in names]

    def means(self, name: str) -> tuple[float | None, float | None]:
        """Return the means of a metric without and with the change, of the seeds that have both.

        If no seed has both, each is the mean of the seeds that have one; None: no seed has.
        """
        before, after = pairs_of(name, self.before, self.after)
        if before:
            return sum(before) / len(before), sum(after) / len(after)
        return mean_of(name, self.before), mean_of(name, self.after)

    def seeds_with(self, name: str) -> tuple[int, int, int]:
        """Return how many seeds have a metric without the change, with it, and in both."""
        have = [(one.has(name), other.has(name)) for one, other in self._pairs()]
        return (
            sum(one for one, _ in have),
            sum(other for _, other in have),
            sum(one and other for one, other in have),
        )

    def _pairs(self) -> Iterator[tuple[Metrics, Metrics]]:
        return zip(self.before, self.after, strict=True)

    def differences(self) -> dict[str, float]:
        """Return the mean paired difference of each main figure that the change moves."""
        return {name: each.mean.value for name, each in self._large() if _has_one_sign(each)}

    def unclear(self) -> dict[str, Comparison]:
        """Return the main figures that fall in some seeds and rise in others."""
        return {name: each for name, each in self._large() if not _has_one_sign(each)}

    def chances(self) -> dict[str, Comparison]:
        """Return the main figures that the change moves, but with which chance could do the same.

        None of a single seed: its report says so of all.
        """
        if len(self.seeds) == 1:
            return {}
        return {
            name: each for name, each in self._large() if _has_one_sign(each) and each.may_be_chance
        }

    def _large(self) -> Iterator[tuple[str, Comparison]]:
        for name in self._judged():
            compared = self._compared(name)
            if compared is None or not _is_large(compared, self.means(name)[0]):
                continue
            if compared.mean.value < 0 or name not in ONLY_FEWER:
                yield name, compared

    def _judged(self) -> Iterator[str]:
        """Yield the metrics by which the change is judged."""
        yield from HEADLINE
        if mean_of("commits_refused", self.before):
            yield from REFUSED
        if self.of_lag:
            yield from LAG

    def _compared(self, name: str) -> Comparison | None:
        """Return the paired differences of a metric; None: no pair has values."""
        before, after = pairs_of(name, self.before, self.after)
        return compare(before, after) if before else None


def mean_of(name: str, runs: Sequence[Metrics]) -> float | None:
    """Return the mean of a metric over the runs that have it; None: none has."""
    values = [run[name] for run in runs if run.has(name)]
    return sum(values) / len(values) if values else None


def _is_large(compared: Comparison, before: float | None) -> bool:
    return abs(compared.mean.value) > MIN_SHARE * abs(before or 0.0)


def _has_one_sign(compared: Comparison) -> bool:
    """Return whether the differences cannot be chance: one sign, or an interval without 0.

    With few seeds the interval of a mean is wide, while a figure that falls in some seeds and rises in
    none tells that the change works: the pairs differ in nothing else.
    """
    if not compared.less or not compared.more:
        return True
    low, high = compared.mean.low, compared.mean.high
    return low is not None and high is not None and (low > 0 or high < 0)
