"""Play a scenario once and measure it: ``emulator.run``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assignors.plugin import is_exclusive
from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.events import Event
from emulator.ledger.entries import Ledger
from emulator.loading import load
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Measured, Measurement, Metrics
from emulator.scenario.deploys import ever_running
from emulator.scenario.estimates.loads import loads_of
from emulator.scenario.model import CommitPolicy, Scenario
from emulator.scenario.resolution import commit_policy, consumer_settings
from emulator.verdicts.facts_meter import FactsMeter
from emulator.verdicts.findings import cut_short, inconclusive, verdicts_of
from emulator.verdicts.verdict import Verdict
from emulator.world.build import play
from emulator.world.cluster.offsets_log.stored_segment import LogFiles
from emulator.world.consumer.blueprints import make_assignors
from emulator.world.consumer.polling.folded_time import FoldedShare
from emulator.world.run import NOTHING_REPLAYED, Replay, Sink

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from emulator.metrics.checks import Expected
    from emulator.metrics.monitors import MonitorRule
    from emulator.metrics.readings import LateMeter
    from emulator.metrics.scaling import Workload
    from emulator.scenario.model import Group, Monitor
    from emulator.verdicts.settling import Settling


FOLDED: Final = "folded"
"""The mode that computes calm consumers without events."""

EXACT: Final = "exact"
"""The mode in which each poll and fetch is an event."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Run:
    """The result of one scenario and one seed."""

    scenario: Scenario
    """What was played."""

    seed: int
    """The number that every random draw depends on."""

    digest: str
    """32 hex digits over the events: equal for the same scenario and seed, on any machine."""

    ledger: Ledger
    """What was reprocessed and lost, with causes."""

    metrics: Metrics
    """All figures, such as ``run.metrics["takeover_first_s"]``."""

    findings: tuple[Finding, ...]
    """Violated invariants, and warnings."""

    verdicts: tuple[Verdict, ...] = ()
    """Problems, such as a group that is stuck, and what the run was too short to show."""

    events: tuple[Event, ...]
    """Every event; empty with ``keep_events=False``."""

    folded: FoldedShare
    """The part of the consumers' time that was computed without events. It depends on the mode."""

    def __repr__(self) -> str:
        """Return one line."""
        ledger = self.ledger
        figures = f"reprocessed={ledger.reprocessed}, lost={ledger.lost}, events={len(self.events)}"
        return (
            f"<Run of {self.scenario.title!r}, seed {self.seed}: {figures}, digest={self.digest}>"
        )

    def expectations(self) -> tuple[Expected, ...]:
        """Return the comparison of this run with the scenario's ``[expect]``."""
        from emulator.metrics.checks import check_expectations  # noqa: PLC0415  asked at the end

        cut = cut_short(self.verdicts)
        return check_expectations(bounds_of(self.scenario), (self.metrics,), (cut,))

    @property
    def why(self) -> tuple[str, ...]:
        """Why the run is inconclusive, in sentences; empty if it is conclusive."""
        return inconclusive(self.verdicts)

    @property
    def conclusive(self) -> bool:
        """Whether the run lasted until its consequences had happened."""
        return not self.why

    @property
    def ok(self) -> bool:
        """Whether every expectation of the scenario holds; an inconclusive one does not."""
        return all(expected.ok for expected in self.expectations())

    def _repr_html_(self) -> str:
        """Return the ledger's entries as an HTML table."""
        from emulator.tables import html_table  # noqa: PLC0415  only notebooks show one

        ledger = self.ledger
        title = f"{self.scenario.title}, seed {self.seed}"
        headings = ("entry", "kind", "group", "topic", "partition", "first", "last", "cause")
        rows = [
            (
                one.id,
                one.kind,
                one.group,
                one.topic,
                one.partition,
                one.first,
                one.last,
                one.cause or "",
            )
            for one in ledger.entries
        ]
        total = f"{title}: {ledger.reprocessed} reprocessed, {ledger.lost} lost"
        return html_table(total, headings, rows)

    def to_arrow(self) -> pa.Table:
        """Return the events as a table with the columns of :mod:`emulator.events.parquet`."""
        from emulator.events.parquet import table_of  # noqa: PLC0415  a run does not need Arrow

        return table_of(self.events, self.scenario.start)

    def to_pandas(self) -> pd.DataFrame:
        """Return the events as a pandas data frame; see :meth:`to_arrow`."""
        from emulator.tables import pandas_frame  # noqa: PLC0415  a run does not need pandas

        return pandas_frame(self.to_arrow())


def run(  # noqa: PLR0913  one keyword an option
    scenario: Scenario | str | Path,
    seed: int | None = None,
    *,
    keep_events: bool = True,
    mode: str = FOLDED,
    polls: bool = False,
    sink: Callable[[Event], None] | None = None,
    each_commit: bool | None = None,
    replay: Replay = NOTHING_REPLAYED,
    log_files: LogFiles | None = None,
) -> Run:
    """Play a scenario once, in virtual time, and return its ledger and metrics.

    *scenario*: a scenario, or the path or catalogue name of one. *seed*: by default its own.
    *keep_events*: False for long runs, whose memory then does not grow with simulated time. *mode*:
    ``folded``, or ``exact``: each poll and fetch is an event (slow; the same result, see
    :func:`emulator.check_modes`). *polls*: also record the result of each poll. *sink*: called with each
    event. *each_commit*: whether all events are written on time and one by one; otherwise those of
    ordinary work may be late or in sums, which is faster and changes no result. By default they are if
    events are kept or there is a *sink*. *replay*: for replays of a real history. *log_files*: receives
    the bytes of the offsets log (``emulator.logs.offsets_log.writing.LogFolder``).

    Raises ``ScenarioError``, ``assignors.errors.AssignorError`` if the user's own assignor fails, and
    ``RefusedError`` if there is no such mode.

    >>> run("quiet", keep_events=False).ledger.reprocessed
    0
    """
    if mode not in (FOLDED, EXACT):
        raise RefusedError(f"`mode={mode}` does not exist; there are {FOLDED} and {EXACT}")
    scenario = scenario if isinstance(scenario, Scenario) else load(scenario)
    chosen = scenario.seed if seed is None else seed
    kept: list[Event] = []
    shared = shared_assignors(scenario)
    facts = FactsMeter()
    others = dict.fromkeys(facts.kinds, lambda event, _: facts.feed(event))
    measurement = Measurement(shared, replaced_groups(scenario), own_meters(scenario), others)
    sinks: list[Sink] = [measurement.feed, *([kept.append] if keep_events else [])]
    sinks += [] if sink is None else [sink]
    taken = replay if log_files is None else replace(replay, log_files=log_files)
    if each_commit is None:
        each_commit = keep_events or sink is not None
    settling = _settling(scenario, facts) if scenario.until_settled else None
    if settling is not None:
        sinks.append(settling.feed)
    outcome = play(
        scenario,
        chosen,
        tuple(sinks),
        polls=polls,
        replay=taken,
        folding=mode == FOLDED,
        each_commit=each_commit or has_monitors(scenario),
        ending=settling,
    )
    measured = measurement.close(mistaken_policy=bool(shared) or is_mistaken(scenario))
    return Run(
        scenario=scenario,
        seed=chosen,
        digest=outcome.digest,
        ledger=measured.ledger,
        metrics=measured.metrics,
        findings=measured.findings,
        verdicts=_verdicts(scenario, measured, facts),
        events=tuple(kept),
        folded=outcome.folded,
    )


def _verdicts(scenario: Scenario, measured: Measured, facts: FactsMeter) -> tuple[Verdict, ...]:
    loads = tuple(loads_of(scenario))
    backlogs = {topic.name: topic.backlog for topic in scenario.topic if topic.backlog}
    return verdicts_of(measured.ledger, measured.metrics, facts.close(), loads, backlogs)


MIN_UNTIL_SETTLED_US = 60_000_000
"""The shortest run without ``run_for``, so that it also shows the groups undisturbed."""


def _settling(scenario: Scenario, facts: FactsMeter) -> Settling:
    """Return what decides when a run without ``run_for`` may end."""
    from emulator.verdicts.settling import Settling  # noqa: PLC0415  most runs have a fixed end

    members = [(g, m) for g in scenario.group for m in g.members]
    replaced = replaced_groups(scenario).values()
    times: list[object] = [member.start for _, member in members]
    times += [topic.created for topic in scenario.topic]
    times += [at for fault in scenario.fault for at in (fault.at, *(fault.between or ()))]
    return Settling(
        facts,
        groups=[group.id for group in scenario.group if group.id not in replaced],
        committing={g.id for g, m in members if commit_policy(g, m).call != "none"},
        faults=[fault.id for fault in scenario.fault],
        not_before_us=max(MIN_UNTIL_SETTLED_US, *(time for time in times if isinstance(time, int))),
    )


def bounds_of(scenario: Scenario) -> dict[str, tuple[str, float]]:
    """Return the scenario's expectations as plain values."""
    return {name: (bound.relation, bound.value) for name, bound in scenario.expect.items()}


def replaced_groups(scenario: Scenario) -> dict[str, str]:
    """Return, for each group that takes over the work of another one, that one."""
    return {group.id: group.replaces for group in scenario.group if group.replaces is not None}


def _workload(group: Group) -> Workload:
    """Return the replicas of a group that has an autoscaler."""
    from emulator.metrics.scaling import Workload  # noqa: PLC0415  few groups have one
    from emulator.scenario.estimates.lifetimes import first_replicas, replicas_of  # noqa: PLC0415  as above

    of_member = {name: replica for replica in replicas_of(group) for name in replica}
    return Workload(len(first_replicas(group)), group.threads, of_member)


def own_meters(scenario: Scenario) -> dict[str, LateMeter]:
    """Return the meters that only some scenarios need, by their keys."""
    found: dict[str, LateMeter] = {}
    scaled = [group for group in scenario.group if group.autoscaler is not None]
    if scaled:
        from emulator.metrics.scaling import ScalingMeter  # noqa: PLC0415  few scenarios need it

        found["scaling"] = ScalingMeter({group.id: _workload(group) for group in scaled})
    if has_monitors(scenario):
        from emulator.metrics.monitors import MonitorMeter  # noqa: PLC0415  few scenarios need it

        found["monitors"] = MonitorMeter(
            {
                group.id: [_monitor_rule(each, group) for each in group.monitor]
                for group in scenario.group
            }
        )
    if any(group.offsets != "kafka" for group in scenario.group):
        from emulator.metrics.commit_rounds import CommitRoundMeter  # noqa: PLC0415  as above

        found["rounds"] = CommitRoundMeter()
    policies = (commit_policy(group, m) for group in scenario.group for m in group.members)
    if any(policy.retries_older for policy in policies):
        from emulator.metrics.wrong_owner import WrongOwnerMeter  # noqa: PLC0415  as above

        found["wrong_owner"] = WrongOwnerMeter()
    repeating = {topic.name: topic.repeats for topic in scenario.topic if topic.repeats}
    if repeating:
        from emulator.metrics.copies import CopyRule, RuleMeter  # noqa: PLC0415  as above

        rules = {name: CopyRule(each.records, each.of) for name, each in repeating.items()}
        found["copies"] = RuleMeter("copies_processed", rules)
    if any(topic.aborted_every for topic in scenario.topic):
        found["aborted"] = _aborted_meter(scenario)
    return found


def _aborted_meter(scenario: Scenario) -> LateMeter:
    """Return what measures the processed records of aborted transactions."""
    from emulator.metrics.copies import AbortedRule, RuleMeter  # noqa: PLC0415  few scenarios need it
    from emulator.world.cluster.partitions.offset_gaps import committed_gaps_of, gaps_of  # noqa: PLC0415  as above

    aborted: dict[str, AbortedRule] = {}
    for topic in scenario.topic:
        written, committed = gaps_of(topic), committed_gaps_of(topic)
        if topic.aborted_every and written is not None and committed is not None:
            aborted[topic.name] = AbortedRule(written, committed)
    return RuleMeter("aborted_processed", aborted)


def _monitor_rule(monitor: Monitor, group: Group) -> MonitorRule:
    """Return a monitor of a group as a rule."""
    from emulator.metrics.monitors import MonitorRule  # noqa: PLC0415  as above

    return MonitorRule(
        name=monitor.name or monitor.rule,
        every_us=monitor.every,
        stuck_after_us=monitor.stuck_after,
        sees_commits=monitor.rule != "burrow" or group.offsets != "database",
        above=monitor.above,
        lasting_us=monitor.lasting,
        by_partition=monitor.of == "partition",
        intervals=monitor.intervals,
        refresh_us=monitor.offset_refresh,
        min_distance_us=monitor.min_distance,
        allowed_lag=monitor.allowed_lag,
        rewind_first=monitor.rewind_first,
    )


def has_monitors(scenario: Scenario) -> bool:
    """Return whether a group has monitors, which need each commit at its time."""
    return any(group.monitor for group in scenario.group)


def shared_assignors(scenario: Scenario) -> frozenset[str]:
    """Return the names of assignors that may assign a partition to several members."""
    shared = set[str]()
    for group, member in ever_running(scenario):
        settings = consumer_settings(group, member)
        if any(":" in name for name in settings.partition_assignment_strategy):
            made = make_assignors(settings, member)
            shared.update(one.name for one in made if not is_exclusive(one))
    return frozenset(shared)


def is_mistaken(scenario: Scenario) -> bool:
    """Return whether a policy, a record or a member of the scenario causes duplicates or losses.

    Members that assign partitions to themselves may read the same ones, beside each other or a group.
    """
    members = [(group, member) for group in scenario.group for member in group.members]
    if any(_mistaken(commit_policy(group, member)) for group, member in members):
        return True
    beside = any(member.assign and len(group.members) > 1 for group, member in members)
    return beside or any(group.poison for group in scenario.group)


def _mistaken(policy: CommitPolicy) -> bool:
    return policy.off_by_one or policy.retries_older
