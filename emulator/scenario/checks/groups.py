"""Check groups and members: settings of both protocols, patterns, and the user's own assignors."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.scenario.checks.cluster import named_twice, repeated_in, unknown, unknown_in
from emulator.scenario.deploys import ever_running
from emulator.scenario.kafka_settings import (
    REFUSED_WITH,
    REMOTE_ASSIGNOR,
    STRATEGY,
    why_refused,
)
from emulator.scenario.model import Cluster, Group, Member, Scenario
from emulator.scenario.patterns import CostlyPatternError, client_matcher
from emulator.scenario.problems import Problem, hint, listed
from emulator.scenario.resolution import (
    ADMIN,
    AUTO_COMMIT,
    BROKERS,
    CLIENTS,
    CONTROLLER,
    COORDINATOR_OF,
    INSTANCE_ID,
    broker_number,
    broker_settings,
    client_of,
    commit_policy,
    consumer_settings,
    has_listener,
    members_of,
    subscription_of,
)
from emulator.scenario.short_forms import LEGAL_NAME
from emulator.scenario.units import format_duration
from protocols.consumer.clients import profile_of
from protocols.settings import BrokerSettings, ConsumerSettings

if TYPE_CHECKING:
    from assignors.types import Assignor


def group_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of groups, members and their names."""
    groups = [(f"group[{index}].id", group.id) for index, group in enumerate(scenario.group)]
    yield from named_twice(groups, "group")
    yield from named_twice(
        ((f"group[{group.id}].members", member.name) for group, member in members_of(scenario)),
        "member",
    )
    names = dict.fromkeys(group.id for group in scenario.group)
    for group in scenario.group:
        if group.replaces is not None:
            yield from _replacement_problems(group, group.replaces, names)
        yield from _autoscaler_problems(group, scenario)
        if group.threads > 1:
            from emulator.scenario.checks.deploys import thread_problems  # noqa: PLC0415  few have it

            yield from thread_problems(group)
        yield from _monitor_problems(group, scenario)
        yield from _coordinator_problems(group, scenario)
        yield from _poison_problems(group, scenario)
        yield from _handler_problems(group, scenario)
        yield from _listener_problems(group)
        yield from _work_problems(group, scenario)
        yield from _subscription_problems(group, scenario)
        for member in group.members:
            yield from _member_problems(group, member, scenario)


def _listener_problems(group: Group) -> Iterator[Problem]:
    if not all(has_listener(group, member) for member in group.members):
        from emulator.scenario.checks.listeners import listener_problems  # noqa: PLC0415  few need it

        yield from listener_problems(group)


def _replacement_problems(group: Group, old: str, names: Collection[str]) -> Iterator[Problem]:
    if old == group.id or old not in names:
        others = [name for name in names if name != group.id]
        yield from unknown(f"group[{group.id}].replaces", old, others, "other group")


def _autoscaler_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    if group.autoscaler is not None:
        from emulator.scenario.checks.autoscalers import (  # noqa: PLC0415  few groups need it
            autoscaler_problems,
        )

        yield from autoscaler_problems(group, group.autoscaler, scenario)


def _monitor_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    if group.monitor:
        from emulator.scenario.checks.monitors import monitor_problems  # noqa: PLC0415  few need it

        yield from monitor_problems(group, scenario)


def _path(group: Group, member: Member) -> str:
    return f"group[{group.id}].member[{member.name}]"


def _coordinator_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    brokers = scenario.cluster.brokers
    if group.coordinator is not None and group.coordinator > brokers:
        reason = f"no broker {group.coordinator}; allowed are 1 to {brokers}"
        yield Problem(f"group[{group.id}].coordinator", reason, group.coordinator)


def _poison_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    if group.poison:
        from emulator.scenario.checks.poison import poison_problems  # noqa: PLC0415  few groups need it

        yield from poison_problems(group, scenario)


def _handler_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    orders = {commit_policy(group, member).offsets for member in group.members}
    if group.handler is not None or orders - {"frontier"}:
        from emulator.scenario.checks.commits import handler_problems  # noqa: PLC0415  few need it

        yield from handler_problems(group, scenario)


def _work_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    if group.work_by is not None:
        from emulator.scenario.checks.work import work_problems  # noqa: PLC0415  few groups need it

        yield from work_problems(group, scenario)


# -- subscriptions ---------------------------------------------------------------------------


def _subscription_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    path = f"group[{group.id}]"
    yield from broker_problems(group)
    yield from _wanted(path, (group.topics, group.pattern), group, scenario)
    for member in group.members:
        if member.topics is not None or member.pattern is not None:
            wanted = subscription_of(group, member)
            yield from _wanted(_path(group, member), wanted, group, scenario)
        elif not group.topics and group.pattern is None and member.assign is None:
            reason = 'has no subscription; set "topics" or "pattern", here or for the group'
            yield Problem(_path(group, member), reason)


def _wanted(
    path: str, wanted: tuple[tuple[str, ...], str | None], group: Group, scenario: Scenario
) -> Iterator[Problem]:
    topics, pattern = wanted
    known = [topic.name for topic in scenario.topic]
    if topics and pattern is not None:
        yield Problem(path, 'has both "topics" and "pattern"; use one of them')
    yield from unknown_in(f"{path}.topics", topics, known, "topic")
    yield from repeated_in(f"{path}.topics", topics, "topic")
    if pattern is not None:
        yield from pattern_problems(f"{path}.pattern", pattern, group, known)


# -- members ---------------------------------------------------------------------------------


def _member_problems(group: Group, member: Member, scenario: Scenario) -> Iterator[Problem]:
    yield from _name_problems(group, member)
    yield from settings_problems(group, member)
    if isinstance(member.start, int) and member.start >= scenario.run_for:
        end = format_duration(scenario.run_for)
        reason = f"after the end of the run; run_for is {end}"
        yield Problem(f"{_path(group, member)}.start", reason, format_duration(member.start))


def _name_problems(group: Group, member: Member) -> Iterator[Problem]:
    name = member.name
    reserved = name in (CLIENTS, BROKERS, CONTROLLER, ADMIN) or name.startswith(COORDINATOR_OF)
    if reserved or broker_number(name) is not None:
        yield Problem(_path(group, member), "reserved for another party; use another name", name)
    elif group.static and INSTANCE_ID not in member.settings and not re.fullmatch(LEGAL_NAME, name):
        reason = (
            "not valid as an instance id: a static member's name has letters, digits, dots, underscores "
            "and hyphens"
        )
        yield Problem(_path(group, member), reason, name)


def settings_problems(group: Group, member: Member) -> Iterator[Problem]:
    """Yield settings of a member that contradict each other or the commit policy."""
    settings = consumer_settings(group, member)
    yield from _heartbeat_problems(group, member, settings)
    given = "commit" in (group.model_fields_set if member.commit is None else ("commit",))
    if given and commit_policy(group, member).call == "auto" and not settings.enable_auto_commit:
        path = _settings_path(group, member, AUTO_COMMIT)
        reason = 'contradicts commit = "auto"; change one of them'
        yield Problem(f"{path}[{AUTO_COMMIT}]", reason, given=False)
    policy = commit_policy(group, member)
    if policy.call not in ("auto", "store") and settings.enable_auto_commit:
        from emulator.scenario.checks.commits import written  # noqa: PLC0415  only for errors

        path = _settings_path(group, member, AUTO_COMMIT)
        reason = f'contradicts commit = "{written(policy) or policy.call}": both would commit; leave this setting out'
        yield Problem(f"{path}[{AUTO_COMMIT}]", reason, given=True)


def _heartbeat_problems(
    group: Group, member: Member, settings: ConsumerSettings
) -> Iterator[Problem]:
    """Yield heartbeats that are not more frequent than sessions end, in the words of the client."""
    profile = profile_of(client_of(group, member))
    beat_ms, session_ms = settings.heartbeat_interval_ms, settings.session_timeout_ms
    if not profile.limits_heartbeat or beat_ms < session_ms:
        return
    said = profile.limits_heartbeat.format(heartbeat=beat_ms, session=session_ms)
    heartbeat, session = "heartbeat.interval.ms", "session.timeout.ms"
    path = _settings_path(group, member, heartbeat, session)
    if heartbeat in group.settings or heartbeat in member.settings:
        reason = (
            f"not below {session}, which is {session_ms} (milliseconds); {profile.name}: {said}"
        )
        yield Problem(f"{path}[{heartbeat}]", reason, beat_ms)
    else:
        reason = f"not above {heartbeat}, which is {beat_ms} (milliseconds); {profile.name}: {said}"
        yield Problem(f"{path}[{session}]", reason, session_ms)


def _settings_path(group: Group, member: Member, *names: str) -> str:
    """Return the path of the settings: the member's if it has one of them, else the group's."""
    mine = any(name in member.settings for name in names)
    return f"{_path(group, member) if mine else f'group[{group.id}]'}.settings"


BOUNDED = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
"""Settings of brokers for groups of the consumer protocol that have a minimum and a maximum."""


def protocol_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield settings that the protocol of their members does not have."""
    brokers = broker_settings(scenario.cluster)
    for group in scenario.group:
        yield from _refused(f"group[{group.id}].settings", group.settings, group, group.members)
        yield from assignor_problems_of(f"group[{group.id}].settings", group.settings, brokers)
        for member in group.members:
            path = f"group[{group.id}].member[{member.name}].settings"
            yield from _refused(path, member.settings, group, (member,))
            yield from assignor_problems_of(path, member.settings, brokers)
    yield from _bounds(scenario.cluster, brokers)


def _refused(
    path: str, given: dict[str, object], group: Group, members: Sequence[Member]
) -> Iterator[Problem]:
    """Yield settings that the protocol of *members* does not have, in the words of their client."""
    protocols = {consumer_settings(group, member).group_protocol for member in members}
    clients = sorted({client_of(group, member) for member in members})
    lacks = profile_of(clients[0]).lacks_by_protocol if len(clients) == 1 else {}
    both = len(protocols) > 1
    for name, value in given.items():
        said = f"{clients[0]}: {lacks[name]}" if name in lacks else ""
        for protocol in sorted(protocols):
            if name in REFUSED_WITH[protocol]:
                rest = "; the group has both protocols: set it for single members" if both else ""
                yield Problem(f"{path}[{name}]", why_refused(name, protocol, said) + rest, value)


def assignor_problems_of(
    path: str, given: dict[str, object], brokers: BrokerSettings
) -> Iterator[Problem]:
    """Yield a problem if the requested assignor is none of the brokers' assignors."""
    wanted, offered = given.get(REMOTE_ASSIGNOR), brokers.group_consumer_assignors
    if isinstance(wanted, str) and wanted not in offered:
        reason = (
            f"UNSUPPORTED_ASSIGNOR: the brokers have {listed(offered)} "
            f"(group.consumer.assignors){hint(wanted, offered)}"
        )
        yield Problem(f"{path}[{REMOTE_ASSIGNOR}]", reason, wanted)


def _bounds(cluster: Cluster, brokers: BrokerSettings) -> Iterator[Problem]:
    """Yield times outside their bounds, which prevent the start of a broker."""
    for name in BOUNDED:
        full = f"group.consumer.{name}"
        field = name.replace(".", "_")
        least = getattr(brokers, f"group_consumer_min_{field}")
        most = getattr(brokers, f"group_consumer_max_{field}")
        value = getattr(brokers, f"group_consumer_{field}")
        if not least <= value <= most:
            reason = (
                f"brokers do not start: allowed are {least} to {most} (milliseconds), the limits in "
                f"group.consumer.min.{name} and group.consumer.max.{name}"
            )
            yield Problem(f"cluster.settings[{full}]", reason, value)
    session = brokers.group_consumer_session_timeout_ms
    heartbeat = brokers.group_consumer_heartbeat_interval_ms
    if heartbeat >= session and cluster.settings:
        reason = f"not below group.consumer.session.timeout.ms, which is {session} (milliseconds)"
        name = "group.consumer.heartbeat.interval.ms"
        yield Problem(f"cluster.settings[{name}]", reason, heartbeat)


def assignor_problems(scenario: Scenario, folders: Sequence[Path] | None) -> Iterator[Problem]:
    """Yield the problems of assignors that are given as ``module:function``.

    *folders*: of the scenario's file; None: it has been loaded or was made in Python. Kafka's own need no check: each can run under the eager protocol.
    """
    seen = set[tuple[str, str]]()
    for group, member in ever_running(scenario):
        names = consumer_settings(group, member).partition_assignment_strategy
        look = (repr(names), repr(member.assignor_config))
        if look not in seen and any(":" in name for name in names):
            seen.add(look)
            yield from _problems(group, member, names, folders)


def _problems(
    group: Group, member: Member, names: Sequence[str], folders: Sequence[Path] | None
) -> Iterator[Problem]:
    from assignors.errors import AssignorError  # noqa: PLC0415  few scenarios need them,
    from assignors.registry import load_assignor  # noqa: PLC0415  and all would wait for them

    mine = f"group[{group.id}].member[{member.name}]"
    path = f"{mine if STRATEGY in member.settings else f'group[{group.id}]'}.settings[{STRATEGY}]"
    made = []
    for name in names:
        try:
            made.append(load_assignor(name, member.assignor_config, folders=folders))
        except (AssignorError, TypeError, ValueError) as error:
            yield Problem(path, str(error), name)
    if len(made) == len(names):
        yield from _disagreements(path, names, made)


def _disagreements(path: str, names: Sequence[str], made: Sequence[Assignor]) -> Iterator[Problem]:
    own = [assignor.name for assignor in made]
    twice = next((name for name in own if own.count(name) > 1), None)
    if twice is not None:
        yield Problem(path, f'two assignors are called "{twice}"; members vote by name', names)
    common = set(made[0].rebalance_protocols)
    for assignor in made:
        common &= set(assignor.rebalance_protocols)
    if not common:
        supported = "; ".join(
            f"{assignor.name}: {', '.join(kind.name for kind in assignor.rebalance_protocols)}"
            for assignor in made
        )
        yield Problem(path, f"no rebalance protocol that all of them support ({supported})", names)


def pattern_problems(
    path: str, pattern: str, group: Group, known: Sequence[str]
) -> Iterator[Problem]:
    """Yield a problem if a group's pattern is malformed or matches no topic."""
    try:
        matches = _matcher(pattern, group)
    except CostlyPatternError as error:
        yield Problem(path, str(error), pattern)
        return
    except (re.error, RecursionError, OverflowError) as error:
        yield Problem(path, f"no regular expression: {error}", pattern)
        return
    except ValueError as error:
        reason = (
            f"INVALID_REGULAR_EXPRESSION: not in the syntax of RE2J, which brokers have: {error}"
        )
        yield Problem(path, reason, pattern)
        return
    if not any(matches(topic) for topic in known):
        yield Problem(path, f"matches none of the topics {', '.join(known[:6])}", pattern)


def broker_problems(group: Group) -> Iterator[Problem]:
    """Yield a problem if brokers should match a pattern that they never receive."""
    if group.pattern_by != "broker":
        return
    path = f"group[{group.id}].pattern_by"
    if group.pattern is None and all(member.pattern is None for member in group.members):
        yield Problem(path, 'there is no "pattern" to match; name one, or leave this out', "broker")
    protocols = {consumer_settings(group, member).group_protocol for member in group.members}
    if "classic" in protocols:
        reason = (
            "a consumer of the classic protocol matches its pattern itself; leave this out, or set "
            "group.protocol=consumer"
        )
        yield Problem(path, reason, "broker")


def _matcher(pattern: str, group: Group) -> Callable[[str], object]:
    """Return a function that matches a name with a pattern; raise ValueError if it is malformed."""
    if group.pattern_by == "client":
        return client_matcher(pattern)
    from protocols.groups.kip848.patterns import matcher  # noqa: PLC0415  only such groups need RE2

    return matcher(pattern)
