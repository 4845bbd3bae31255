"""Describe a scenario for reports: its groups, protocols, commits and settings in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from shlex import quote
from typing import TYPE_CHECKING, Any

from assignors.plugin import is_exclusive
from assignors.types import RebalanceProtocol
from emulator.commit_facts import commit_kinds, describe_commits
from emulator.loading import LoadedScenario
from emulator.playing import Run
from emulator.report.subject import (
    COOPERATIVE_STICKY,
    SET_BY_BROKERS,
    FinishedRun,
    GroupFacts,
    Subject,
)
from emulator.report.wording import duration
from emulator.scenario import deploys
from emulator.scenario.estimates.loads import Load, loads_of, times_by_member
from emulator.scenario.kafka_settings import ONLY_CLASSIC
from emulator.scenario.model import (
    BatchListener,
    Group,
    Member,
    RollingRestart,
    Scenario,
    mean_us,
)
from emulator.scenario.resolution import (
    broker_settings,
    client_of,
    consumer_settings,
    deviations_in,
    matches_patterns,
    settings_in_force,
    slowest_us,
    work_of,
)
from emulator.scenario.tables.groups import CLOSE_TIMEOUT_US
from emulator.scenario.units import US_PER_S, format_moment
from emulator.versions import KAFKA
from emulator.world.consumer.blueprints import common_protocol, make_assignors
from protocols.consumer.clients import profile_of
from protocols.settings import BrokerSettings, ConsumerSettings

if TYPE_CHECKING:
    from emulator.comparison import Comparison
    from emulator.report.comparison.columns import Column
    from emulator.report.group_state import DescribedGroup
    from emulator.report.proposals import Proposal
    from emulator.report.timeline import Timeline


def subject_of(loaded: LoadedScenario) -> Subject:
    """Return the description of a scenario."""
    scenario = loaded.scenario
    brokers = broker_settings(scenario.cluster)
    loads = {load.group: load for load in loads_of(scenario)}
    return Subject(
        name=quote(loaded.name),
        options="".join(f" --set {quote(override)}" for override in loaded.overrides),
        title=scenario.title,
        kafka=KAFKA,
        run_for=_length(scenario),
        until_settled=scenario.until_settled,
        run_for_s=scenario.run_for / US_PER_S,
        loss=max(scenario.network.loss, *(link.loss or 0 for link in scenario.network.link), 0),
        groups=tuple(
            _after_deploys(_facts(group, scenario, brokers, loads.get(group.id)), scenario)
            for group in scenario.group
        ),
        broker_settings=settings_in_force(brokers),
        outdated=scenario.cluster.outdated,
        lag_unit="offset" if any(topic.has_gaps for topic in scenario.topic) else "record",
        moment=lambda at_us: format_moment(at_us, scenario.start),
    )


def finished_run(
    loaded: LoadedScenario,
    run: Run,
    timeline: Timeline,
    groups: tuple[DescribedGroup, ...],
    *,
    propose_changes: bool = True,
) -> FinishedRun:
    """Return a run as reports show it, perhaps with the changes that its hints recommend.

    *timeline* and *groups* come of its events.
    """
    report = FinishedRun(
        subject=subject_of(loaded),
        seed=run.seed,
        digest=run.digest,
        ledger=run.ledger,
        metrics=run.metrics,
        findings=run.findings,
        expectations=run.expectations(),
        verdicts=run.verdicts,
        timeline=timeline,
        groups=groups,
        folded=run.folded.share,
        live=run.folded.live_shares(),
    )
    return replace(report, proposals=_proposals(loaded, report)) if propose_changes else report


def _proposals(loaded: LoadedScenario, report: FinishedRun) -> tuple[Proposal, ...]:
    from emulator.report.hints.given import hints_of  # noqa: PLC0415  read with the first report

    hints = hints_of(report)
    if not hints:
        return ()
    from emulator.advice.proposing import propose  # noqa: PLC0415  only for runs with hints

    return propose(loaded, report, hints)


def _length(scenario: Scenario) -> str:
    """Return the length of a run in words."""
    return "at most " * scenario.until_settled + duration(scenario.run_for / US_PER_S)


def columns_of(compared: Comparison) -> list[Column]:
    """Return the variants of a comparison as its report shows them."""
    from emulator.report.comparison.columns import Column  # noqa: PLC0415  a single run compares nothing

    return [
        Column(
            name=variant.name,
            subject=subject_of(variant.loaded),
            metrics=[run.metrics for run in variant.runs],
            causes=[run.by_cause for run in variant.runs],
            overrides=variant.loaded.overrides,
            missed=variant.missed,
            disqualified=variant.disqualified,
        )
        for variant in compared.variants
    ]


def clock_of(scenario: Scenario) -> Callable[[int], str] | None:
    """Return the conversion of simulated time (us) to ISO clock time; None without a ``start``."""
    start = scenario.start
    if start is None:
        return None
    return lambda at_us: (start + timedelta(microseconds=at_us)).isoformat()


OF_MEMBERS = frozenset({"session.timeout.ms", "max.poll.interval.ms"})
"""Settings without a meaning for a consumer that calls ``assign()``."""


def _lacked(group: Group, member: Member) -> frozenset[str]:
    """Return the settings of a member of the Java client that this consumer does not have."""
    profile = profile_of(client_of(group, member))
    lacked = frozenset(profile.lacks) - {*profile.names.values()}
    return lacked if member.assign is None else lacked | OF_MEMBERS


def _after_deploys(facts: GroupFacts, scenario: Scenario) -> GroupFacts:
    """Note whether deploys give the members of a group new names, and what all joins take."""
    acts = deploys.rolling_restarts_of(facts.id, scenario)
    renamed = bool(deploys.renaming_acts(facts.id, scenario))
    return replace(
        facts,
        joins_s=facts.max_running * scenario.cluster.join_time / US_PER_S,
        names_change=renamed or any(act.surge for act in acts),
        deployed_interval_ms=_shorter_interval(facts, acts, scenario),
        becomes_cooperative=_becomes_cooperative(acts, scenario),
        new_ids=renamed and facts.static,
    )


def _shorter_interval(
    facts: GroupFacts, acts: Sequence[RollingRestart], scenario: Scenario
) -> int | None:
    """Return the shortest ``max.poll.interval.ms`` of some deploys, if the group's own is longer."""
    found = [
        consumer_settings(*after).max_poll_interval_ms
        for act in acts
        if deploys.changes_settings(act)
        for after in deploys.deployed_by(act, scenario)
    ]
    return min((each for each in found if each < facts.shortest_interval_ms), default=None)


def _becomes_cooperative(acts: Sequence[RollingRestart], scenario: Scenario) -> bool:
    """Return whether the last of some deploys that change settings leaves no eager assignor."""
    last = [act for act in acts if deploys.changes_settings(act)][-1:]
    started = [after for act in last for after in deploys.deployed_by(act, scenario)]
    return bool(started) and all(_is_cooperative(*after) for after in started)


def _is_cooperative(group: Group, member: Member) -> bool:
    """Return whether a member keeps the partitions that do not move during a rebalance."""
    settings = consumer_settings(group, member)
    common = common_protocol(make_assignors(settings, member))
    return settings.group_protocol == "consumer" or common is RebalanceProtocol.COOPERATIVE


def _facts(
    group: Group, scenario: Scenario, brokers: BrokerSettings, load: Load | None
) -> GroupFacts:
    first = next((each for each in group.members if each.assign is None), group.members[0])
    settings = consumer_settings(group, first)
    assignors = make_assignors(settings, first)
    by_coordinator = settings.group_protocol == "consumer"
    clients = tuple(dict.fromkeys(client_of(group, member) for member in group.members))
    return GroupFacts(
        id=group.id,
        members=len(group.members),
        assignors=_assignor_names(settings, brokers, [each.name for each in assignors]),
        cooperative=_is_cooperative(group, first),
        by_coordinator=by_coordinator,
        finds_topics=not by_coordinator or matches_patterns(group),
        mixed=len({consumer_settings(group, m).group_protocol for m in group.members}) > 1,
        static=all(consumer_settings(group, m).group_instance_id for m in group.members),
        shared=not all(map(is_exclusive, assignors)),
        commits=describe_commits(group, first),
        repeats_batches=isinstance(group.handler, BatchListener) and not group.handler.names_failed,
        commit_kinds=commit_kinds(group, first),
        clients=clients,
        own_names=profile_of(clients[0]).own_names if len(clients) == 1 else {},
        can_cooperate=group.offsets != "zookeeper"  # the consumer of Kafka 0.8
        and all(COOPERATIVE_STICKY in profile_of(c).assignors.values() for c in clients),
        lacks=frozenset.intersection(*(_lacked(group, member) for member in group.members)),
        by_hand=tuple(each.name for each in group.members if each.assign is not None),
        has_id=group.offsets != "none",
        stores=profile_of(client_of(group, first)).stores,
        max_running=group.max_running,
        offsets=group.offsets,
        store_bound=load is not None and load.store == load.capacity,
        **_deviations(group, scenario),
        starts_us=tuple(sorted(m.start for m in group.members if isinstance(m.start, int))),
        grace_us=deploys.shortest_grace_us(group, scenario),
        starts_again=deploys.starts_again(group, scenario),
        unfenced=group.offsets == "database" and not scenario.database.fenced,
        **_work(group, load, scenario),
        **_of_handler(group),
        listener_us=mean_us(group.listener),
        **_load(load),
        settings=_in_force(settings, brokers),
    )


def _deviations(group: Group, scenario: Scenario) -> dict[str, Any]:
    """Return what a group does otherwise, and whether that fences members with different ids."""
    found = deviations_in(group)
    settings = [consumer_settings(group, member) for member in group.members]
    ids = [each.group_instance_id for each in settings]
    forgets = "static_rejoin" in scenario.cluster.outdated
    keeps = all(each.group_protocol == "consumer" for each in settings)
    fences = (forgets or keeps or "session_in_join" in found) and len(set(ids)) == len(ids)
    early = group.close_timeout < CLOSE_TIMEOUT_US
    return {"deviations": found, "fenced_alone": fences, "closes_early": early}


def _load(load: Load | None) -> dict[str, Any]:
    """Return what arrives and what can be processed; nothing if records do not arrive until the end."""
    if load is None:
        return {}
    return {
        "arrival_per_s": load.arrival,
        "peak_per_s": load.peak,
        "capacity_per_s": load.capacity,
        "overload": _overload(load) if load.is_overload else "",
        "speeds": load.speeds,
    }


def _overload(load: Load) -> str:
    """Return an overload in words."""
    from emulator.verdicts.lag import overload_text  # noqa: PLC0415  most groups keep up

    return overload_text(load)


def _work(group: Group, load: Load | None, scenario: Scenario) -> dict[str, Any]:
    """Return the work of members on a record; by member only if it does not depend on the run."""
    work = {member.name: mean_us(work_of(group, member)) for member in group.members}
    times = {} if load is None else load.times
    usual_us = max([*work.values(), *times.values()])
    return {
        "queue": 0 if group.pool is None else group.pool.queue,
        "work_us": usual_us,
        "slowest_us": slowest_us(group, scenario, usual_us),
        "work_by_topic": times,
        "work_by_member": times_by_member(group, load, work),
    }


def _of_handler(group: Group) -> dict[str, Any]:
    """Return the facts about a framework, an autoscaler and a handler; empty for a plain poll loop."""
    if group.framework is None and group.autoscaler is None and group.handler is None:
        return {}
    from emulator.handler_facts import handler_facts  # noqa: PLC0415  few groups have one

    return handler_facts(group)


def _in_force(settings: ConsumerSettings, brokers: BrokerSettings) -> dict[str, Any]:
    """Return a group's settings; with the consumer protocol, times are settings of the brokers."""
    own = settings_in_force(settings)
    if settings.group_protocol != "consumer":
        return own
    theirs = settings_in_force(brokers)
    times = {f"group.consumer.{name}": theirs[f"group.consumer.{name}"] for name in SET_BY_BROKERS}
    return {**{name: value for name, value in own.items() if name not in ONLY_CLASSIC}, **times}


def _assignor_names(
    settings: ConsumerSettings, brokers: BrokerSettings, own: Sequence[str]
) -> tuple[str, ...]:
    """Return a member's assignors; with the consumer protocol, that of the coordinator if all request one."""
    if settings.group_protocol != "consumer":
        return tuple(own)
    return (settings.group_remote_assignor or brokers.group_consumer_assignors[0],)
