"""A scenario as reports speak of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from shlex import quote

from assignors.plugin import is_exclusive
from assignors.types import RebalanceProtocol
from emulator.cli.choosing import Chosen
from emulator.report.subject import GroupFacts, Subject
from emulator.scenario.manifest import KAFKA
from emulator.scenario.model import CommitPolicy, Group, Scenario
from emulator.scenario.resolution import (
    broker_settings,
    commit_policy,
    consumer_settings,
    settings_in_force,
)
from emulator.scenario.units import US_PER_MS, format_duration, format_moment, format_span
from emulator.world.consumer.blueprints import common_protocol, make_assignors


def subject_of(chosen: Chosen) -> Subject:
    """Return what reports say of a scenario."""
    scenario = chosen.scenario
    return Subject(
        name=quote(chosen.name),
        options="".join(f" --set {quote(override)}" for override in chosen.overrides),
        title=scenario.title,
        kafka=KAFKA,
        run_for=format_span(scenario.run_for),
        groups=tuple(_facts(group) for group in scenario.group),
        broker_settings=settings_in_force(broker_settings(scenario.cluster)),
        retentions={
            topic.name: format_duration(topic.retention)
            for topic in scenario.topic
            if topic.retention is not None
        },
        moment=lambda at_us: format_moment(at_us, scenario.start),
    )


def clock_of(scenario: Scenario) -> Callable[[int], str] | None:
    """Return what tells a time of the run as clock time, as JSON has it; None: no start."""
    start = scenario.start
    if start is None:
        return None
    return lambda at_us: (start + timedelta(microseconds=at_us)).isoformat()


def _facts(group: Group) -> GroupFacts:
    first = group.members[0]
    settings = consumer_settings(group, first)
    assignors = make_assignors(settings, first)
    policy = commit_policy(group, first)
    return GroupFacts(
        id=group.id,
        members=len(group.members),
        assignors=tuple(assignor.name for assignor in assignors),
        cooperative=common_protocol(assignors) is RebalanceProtocol.COOPERATIVE,
        static=all(consumer_settings(group, m).group_instance_id for m in group.members),
        shared=not all(map(is_exclusive, assignors)),
        commits=_in_words(policy, settings.auto_commit_interval_ms),
        habits=frozenset(_habits(policy)),
        settings=settings_in_force(settings),
    )


def _habits(policy: CommitPolicy) -> list[str]:
    found: list[str] = [policy.call]
    if policy.call in ("sync", "async"):
        found += ["before work"] if policy.when == "before" else []
        found += ["each record"] if policy.when == "record" else []
        found += [] if policy.arguments else ["no offsets"]
    return found + (["in listener"] if policy.on_revoke else [])


def _in_words(policy: CommitPolicy, interval_ms: int) -> str:
    """Say who commits when."""
    if policy.call == "auto":
        words = f"auto commit every {format_duration(interval_ms * US_PER_MS)}"
    elif policy.call == "none":
        words = "no commits"
    else:
        call = "commitSync()" if policy.call == "sync" else "commitAsync()"
        words = f"{call} {_when(policy)}"
    return f"{words} and in the revoke listener" if policy.on_revoke else words


def _when(policy: CommitPolicy) -> str:
    if policy.when == "every":
        spans = [format_duration(policy.every)] if policy.every is not None else []
        spans += [f"{policy.records} records"] if policy.records is not None else []
        return f"every {' or '.join(spans)}"
    return {"batch": "after each batch", "record": "after each record"}.get(
        policy.when, "before the work"
    )
