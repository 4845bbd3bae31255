"""The runs of one scenario in a test, in the words of the domain: what ``scenario(...)`` returns."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.ledger.entries import Cause, Ledger
from emulator.metrics.catalogue import VALUES, is_metric, unknown_metric
from emulator.metrics.checks import Expected, check_expectations
from emulator.metrics.laws import Law
from emulator.playing import bounds_of
from emulator.scenario.model import Scenario
from emulator.scenario.problems import few_listed, hint, listed
from emulator.testing.figures import Claim, Figure, MetricSource, RebalancesSource, Source
from emulator.testing.ledger_files import UPDATE, LedgerFiles
from emulator.testing.playing import PlayedSeed
from emulator.verdicts.findings import cut_short, inconclusive

ALSO = {Cause.TWO_OWNERS: "overlap_s"}
"""The metric that shows a cause although nothing was reprocessed or lost by it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Results:
    """The runs of one scenario: every metric is an attribute, such as ``run.lost``.

    A comparison holds if it holds in every run: ``run.lost == 0``. Over several seeds,
    ``run.reprocessed.p95`` is a statistic over all runs.
    """

    scenario: Scenario
    runs: tuple[PlayedSeed, ...]
    replay: str
    """The arguments of ``rebalance run`` for the same scenario; empty: it has no file."""

    ledger_files: LedgerFiles
    """Of the test."""

    claims: list[Claim] = field(default_factory=list)
    """The comparisons that failed, in the order of the test."""

    def __repr__(self) -> str:
        """Return one line."""
        figures = f"{self.reprocessed!r}, {self.lost!r}"
        return f"<{self.scenario.title!r}, {self.named_seeds}: {figures}>"

    def __getattr__(self, name: str) -> Any:
        """Return the :class:`Figure` of a metric."""
        __tracebackhide__ = True
        if any(name == metric.name for metric in VALUES):
            return self[name]
        raise AttributeError(unknown_metric(name))

    def __getitem__(self, name: str) -> Figure:
        """Return the figure with a name of ``[expect]``, such as ``reprocessed.p95``.

        Raise KeyError with the closest match for an unknown name.
        """
        __tracebackhide__ = True
        source = MetricSource(name)
        try:
            for played in self.runs:
                source.values(played)
        except KeyError as error:
            raise error.with_traceback(None) from None
        return Figure(source, self.runs, self.claims)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(played.seed for played in self.runs)

    @property
    def named_seeds(self) -> str:
        """The seeds in words."""
        first, last = self.seeds[0], self.seeds[-1]
        return f"seed {first}" if len(self.seeds) == 1 else f"seeds {first} to {last}"

    @property
    def ledger(self) -> Ledger:
        """The ledger of the only run; raise RefusedError if there are several."""
        if len(self.runs) > 1:
            raise RefusedError(
                f"{len(self.runs)} seeds have {len(self.runs)} ledgers; take one: run.runs[0].ledger"
            )
        return self.runs[0].ledger

    @property
    def expectations(self) -> tuple[Expected, ...]:
        """The comparison of all runs with the scenario's ``[expect]``."""
        metrics = [run.metrics for run in self.runs]
        cut = [cut_short(run.verdicts) for run in self.runs]
        return check_expectations(bounds_of(self.scenario), metrics, cut)

    @property
    def ok(self) -> bool:
        """Whether every expectation of the scenario holds."""
        failed = [expected for expected in self.expectations if not expected.ok]
        for expected in failed:
            self._holds(MetricSource(expected.name), expected.relation, expected.expected)
        return not failed

    def rebalances_per(self, what: str) -> Figure:
        """Return how many rebalances each fault or act of a kind caused, directly or through others.

        *what*: a verb (``restart``: each restart of a rolling restart; ``crash``), or the id of one
        fault. Raise RefusedError if none took effect in a run: nothing was tested then.
        """
        __tracebackhide__ = True
        source = RebalancesSource(what)
        for played in self.runs:
            if not source.values(played):
                known = sorted({*played.verbs.values(), *played.verbs})
                found = f"these did: {few_listed(known)}" if known else "no fault or act did"
                raise RefusedError(
                    f"rebalances_per({what!r}): no fault or act with this verb or id took effect "
                    f"under seed {played.seed}; {found}{hint(what, known)}"
                )
        return Figure(source, self.runs, self.claims)

    def never(self, what: str) -> bool:
        """Return whether something happened in no run.

        *what*: a cause of the ledger or its first words (``two owners``), a warning (``commit ahead
        of processing``), or a metric that must be 0 (``evictions``). ``two owners`` also means time
        in which two owners processed one partition without a duplicate.

        Raise RefusedError, with the closest names, if there is no such thing.
        """
        __tracebackhide__ = True
        sources = _occurrences(what)
        held = [self._holds(source, "==", 0) for source in sources]
        return all(held)

    def matches_ledger(self, file: str | Path) -> bool:
        """Return whether the ledgers are those in a file, relative to the test's folder.

        The report of the test says how they differ. ``pytest --rebalance-update`` writes the file.
        If a run is inconclusive, they are not compared, and nothing is written: a longer run could
        have another ledger. The report says why.

        Raise RefusedError if the file cannot be used.
        """
        __tracebackhide__ = True
        reason = self._inconclusive()
        if reason:
            message = f"the ledger is not compared with {file}: {reason}"
            self.claims.append(Claim(message, holds=lambda _: True, excess=lambda _: 0))
            return False
        found = self.ledger_files.differences(file, self.runs)
        if found:
            lines = "".join(f"\n    {line}" for line in found)
            message = f"the ledger differs from {file}; {UPDATE} replaces it:{lines}"
            self.claims.append(Claim(message, holds=lambda _: True, excess=lambda _: 0))
        return not found

    def _inconclusive(self) -> str:
        """Return the first run that is inconclusive, and why; empty: none is."""
        reasons = (
            f"the run with seed {played.seed} is inconclusive: {sentence} at the end"
            for played in self.runs
            for sentence in inconclusive(played.verdicts)
        )
        return next(reasons, "")

    def _holds(self, source: Source, relation: str, expected: float) -> bool:
        return Figure(source, self.runs, self.claims).compare(relation, expected)


@dataclass(frozen=True, slots=True)
class CauseSource:
    """The records that were reprocessed, lost or truncated by one cause."""

    cause: Cause

    @property
    def name(self) -> str:
        """The words of the cause."""
        return f"number of records with the cause {self.cause.value!r}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The totals of which they are a part."""
        return ("reprocessed", "lost", "truncated")

    def values(self, played: PlayedSeed) -> tuple[float, ...]:
        """Return their number in one run."""
        cause = self.cause
        return (sum(entry.count for entry in played.ledger.entries if entry.cause is cause),)


@dataclass(frozen=True, slots=True)
class FindingSource:
    """The warnings of one kind."""

    law: Law

    @property
    def name(self) -> str:
        """The words of the warning."""
        return f"number of warnings {self.law.value!r}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """None: a warning follows from no metric."""
        return ()

    def values(self, played: PlayedSeed) -> tuple[float, ...]:
        """Return their number in one run."""
        return (sum(each.times for each in played.findings if each.law is self.law),)


def _occurrences(what: str) -> list[Source]:
    """Return what counts the occurrences of *what*; raise RefusedError if nothing does."""
    __tracebackhide__ = True
    causes = [cause for cause in Cause if cause.value.startswith(what)]
    laws = [law for law in Law if law.value.startswith(what)]
    found: list[Source] = [CauseSource(cause) for cause in causes]
    found += [MetricSource(ALSO[cause]) for cause in causes if cause in ALSO]
    found += [FindingSource(law) for law in laws]
    found += [MetricSource(what)] if is_metric(what) else []
    if what and found:
        return found
    known = [*Cause, *Law, *(metric.name for metric in VALUES)]
    raise RefusedError(
        f"never({what!r}): no cause, warning or metric begins so{hint(what, known)}; causes are "
        f"{listed(Cause)}"
    )
