"""One incident as its trials need it: the time around it, its figures, the scenario without a cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.values import dataclass
from emulator.blaming.arrivals import is_busy
from emulator.blaming.batches import sizes_of_batches
from emulator.blaming.evidence import Evidence
from emulator.blaming.figures import Figure, Figures, after, before, figures_for, repeats_of
from emulator.blaming.policies import interval_ms
from emulator.blaming.setup import Setup, Table, scenario_of, warm_up_us
from emulator.blaming.symptoms import Symptoms, symptoms_of

SECOND = 1_000_000

AFTERMATH_US = 8 * SECOND
"""The least time behind the last sign of an incident that is compared."""

LONGEST_US = 300 * SECOND
"""The longest time from the onset on that is compared."""

_COMMITTING_US = 12 * SECOND
"""How much longer a policy is at least played without a happening, to see its usual commits."""

_INTERVALS = 2.5
"""The commit intervals for which it is played, so that each partition has two commits."""


@dataclass(frozen=True, slots=True)
class Case:
    """What all trials of one incident share."""

    evidence: Evidence
    setup: Setup
    symptoms: Symptoms
    base: Table
    stopped: tuple[str, ...]
    seen: Figures
    figures: Mapping[str, Figure]
    warm_us: int
    """When the incident begins in the runs."""

    quiet_us: int
    """How long a policy is played without a happening."""

    busy: bool
    """Whether the consumers worked all the time before it."""

    batches: tuple[int, ...]
    """What the records of a full batch may be beside the default, if they are busy."""

    @property
    def base_before(self) -> Table:
        """The scenario without the topics that appear in the incident."""
        new = {topic for topic, _ in self.symptoms.appeared}
        group = self.base["group"][0]
        mine = group | {"topics": [topic for topic in group["topics"] if topic not in new]}
        topics = [topic for topic in self.base["topic"] if topic["name"] not in new]
        return self.base | {"topic": topics, "group": [mine]}

    @property
    def records(self) -> float:
        """About how many records a run of an explanation processes."""
        seen = self.evidence.work
        lasted_us = max(1, seen[-1].ended_us - seen[0].began_us)
        number = sum(done.next_offset - done.first for done in seen)
        return number * (self.warm_us + self.after_us) / lasted_us

    @property
    def usual_us(self) -> int:
        """By when the usual commits of a policy are measured: a backlog is that of the log, and ends."""
        return self.warm_us if self.busy else self.quiet_us

    @property
    def after_us(self) -> int:
        """How long the incident is compared."""
        return self.symptoms.ended_us - self.symptoms.onset_us


def case_of(evidence: Evidence, setup: Setup) -> Case:
    """Return what the trials of an incident share; what comes long after it is left out."""
    whole = symptoms_of(evidence)
    evidence = evidence.until(_end_us(evidence, whole))
    symptoms = whole.until(evidence.work[-1].ended_us)
    stopped = tuple(stop.consumer for stop in symptoms.stops)
    warm_us = warm_up_us(evidence, symptoms)
    busy = is_busy(evidence, symptoms)
    quiet = symptoms.formed_us, symptoms.onset_us
    return Case(
        evidence=evidence,
        setup=setup,
        symptoms=symptoms,
        base=scenario_of(setup, evidence, symptoms),
        stopped=stopped,
        seen=before(evidence, symptoms.formed_us, symptoms.onset_us)
        | after(evidence, symptoms.onset_us, stopped),
        figures=figures_for(evidence.commits, symptoms.formed_us, symptoms.onset_us),
        warm_us=warm_us,
        busy=busy,
        batches=sizes_of_batches(evidence, *quiet) if busy else (),
        quiet_us=warm_us + max(_COMMITTING_US, _intervals_us(evidence)),
    )


def _end_us(evidence: Evidence, symptoms: Symptoms) -> int:
    """Return the end of what is compared: some time behind the last sign of the incident."""
    stops = (stop.resumed_us or stop.stopped_us for stop in symptoms.stops)
    signs = [
        symptoms.onset_us + symptoms.halted_us,
        *stops,
        *evidence.generations_us,
        *(joined.at_us for joined in evidence.joins),
        *(at_us for _, at_us in (*symptoms.joined, *symptoms.added)),
        *(repeat.at_us for repeat in repeats_of(evidence.work)),
    ]
    latest_us = symptoms.onset_us + LONGEST_US
    last_us = max(at_us for at_us in signs if at_us <= latest_us)
    return min(last_us + max(AFTERMATH_US, interval_ms(evidence) * 1_500), latest_us)


def _intervals_us(evidence: Evidence) -> int:
    return int(_INTERVALS * interval_ms(evidence) * 1_000)


def later_us(case: Case, quiet: Evidence) -> int:
    """Return how much later the happening begins, to be as far from a commit as was seen.

    A crash 0.2 s behind an automatic commit and one 4.8 s behind it leave other repeats.
    """
    stopped = case.stopped[:1]
    seen_us = _since_commit_us(case.evidence, stopped, case.symptoms.onset_us)
    there_us = _since_commit_us(quiet, stopped, case.warm_us)
    return 0 if seen_us is None or there_us is None else seen_us - there_us


def _since_commit_us(evidence: Evidence, stopped: Iterable[str], at_us: int) -> int | None:
    """Return the time since the last commit of the partitions of a stopped consumer."""
    owners = {done.partition: done.consumer for done in evidence.work if done.ended_us <= at_us}
    names = set(stopped)
    times = [
        commit.at_us
        for commit in evidence.commits
        if commit.at_us <= at_us and (not names or owners.get(commit.partition) in names)
    ]
    return at_us - max(times) if times else None
