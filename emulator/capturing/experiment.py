"""Convert a scenario to a plan, or say what of it a capture cannot do.

Values that describe the emulated machine (latencies, replication, load times) have no place in a
plan: the real machine has its own. What would change the meaning of a run is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from emulator.capturing.experiment_acts import tracks_of
from emulator.capturing.plan import MemberPlan, Plan, TopicPlan
from emulator.capturing.setting_texts import LIBRARIES, setting_texts, text_of_value
from emulator.scenario import model
from emulator.scenario.kafka_settings import JAVA_ASSIGNORS, STRATEGY
from emulator.scenario.load import loads, text_of, with_lines
from emulator.scenario.problems import Problem, ScenarioError, listed
from emulator.scenario.resolution import (
    AUTO_COMMIT,
    INSTANCE_ID,
    client_of,
    commit_policy,
    has_listener,
    poll_timeout_us,
    subscription_of,
    work_of,
)

MS = 1_000
TAIL_US = 15_000_000
"""Time after the last action of a scenario without ``run_for``, and its longest session."""

LONGEST_US = 1_800_000_000
STYLES = {"poll": "poll", "getone": "getone", "getmany": "getmany", "iterator": "iter"}


def plan_of(path: Path) -> Plan:
    """Read an experiment; raise ScenarioError with everything that cannot be captured."""
    text = text_of(str(path))
    scenario = loads(text, str(path), folder=path.parent)
    problems = list(dict.fromkeys(problems_of(scenario)))
    if problems:
        raise ScenarioError(str(path), with_lines(problems, text, ()))
    return plan_of_scenario(scenario, path.stem, text)


def plan_of_scenario(scenario: model.Scenario, name: str, text: str = "") -> Plan:
    """Return the plan of a scenario without problems."""
    (group,) = scenario.group
    tracks = tuple(tracks_of(scenario))
    return Plan(
        name=name,
        brokers=scenario.cluster.brokers,
        racks=scenario.cluster.racks,
        settings={key: text_of_value(v) for key, v in sorted(scenario.cluster.settings.items())},
        topics=tuple(_topic(topic) for topic in scenario.topic),
        members=tuple(_member(scenario, group, member) for member in group.members),
        tracks=tracks,
        length_us=_length_us(scenario),
        text=text,
    )


def _length_us(scenario: model.Scenario) -> int:
    if not scenario.until_settled:
        return scenario.run_for
    (group,) = scenario.group
    sessions = [session_ms(group, member) for member in group.members]
    last = max((_end_us(fault) for fault in scenario.fault), default=0)
    return last + max(sessions) * MS + TAIL_US


def session_ms(group: model.Group, member: model.Member) -> int:
    """Return a member's session timeout, by the client's settings; Kafka's default is 45 s."""
    given = {**group.settings, **member.settings}
    return int(str(given.get("session.timeout.ms", 45_000)))


def _end_us(fault: model.Fault) -> int:
    at = fault.between[1] if fault.between else (fault.at or 0)
    lasting = max(getattr(fault, "lasting", 0), getattr(fault, "restart_after", 0) or 0)
    return at + fault.delay + lasting


# -- parts of the plan ---------------------------------------------------------------------------


def _topic(topic: model.Topic) -> TopicPlan:
    assert isinstance(topic.rate, float | int), "other rates are refused"
    return TopicPlan(
        name=topic.name,
        partitions=topic.partitions,
        rate=topic.rate,
        preload=topic.backlog,
        record_bytes=topic.record_size,
        replicas=topic.replicas,
        from_us=topic.produce_from,
        until_us=topic.produce_until,
        late=topic.created == "by act",
        acks=topic.acks,
        retention_us=topic.retention,
    )


def _member(scenario: model.Scenario, group: model.Group, member: model.Member) -> MemberPlan:
    client = client_of(group, member)
    topics, pattern = subscription_of(group, member)
    return MemberPlan(
        id=member.name,
        start_us=None if member.start == "by act" else int(member.start),
        lib=LIBRARIES.get(client),
        topics=topics,
        pattern=pattern,
        application=_application(scenario, group, member),
        kafka=_kafka(group, member),
    )


def _application(
    scenario: model.Scenario, group: model.Group, member: model.Member
) -> dict[str, str]:
    """Return the settings of the traced application."""
    policy = commit_policy(group, member)
    values = {
        "mode": mode_of(policy) or "",
        "work": str(_whole_ms(work_of(group, member)) or 0),
        "pollTimeout": str(poll_timeout_us(group, member) // MS),
        "listener": str(_whole_ms(group.listener) or 0),
    }
    if policy.every is not None:
        values["commitEvery"] = str(policy.every // MS)
    if group.pattern_by == "broker":
        values["patternBy"] = "broker"
    read_with = member.read_with or group.read_with
    client = client_of(group, member)
    if client in LIBRARIES:
        usual = {"aiokafka": "getone", "kafka-python": "iter"}.get(client, "poll")
        values |= {"lib": LIBRARIES[client], "style": STYLES.get(read_with or usual, usual)}
    if any(_stops_in_batch(fault, group, member) for fault in scenario.fault):
        values["stop"] = "midbatch"
    return values


def _stops_in_batch(fault: model.Fault, group: model.Group, member: model.Member) -> bool:
    if isinstance(fault, model.RollingRestart):
        return fault.mid_batch and fault.group == group.id
    return isinstance(fault, model.Close) and fault.mid_batch and fault.member == member.name


def _kafka(group: model.Group, member: model.Member) -> dict[str, str]:
    given = {"auto.offset.reset": "latest", **group.settings, **member.settings}
    if group.static:
        given.setdefault(INSTANCE_ID, member.name)
    return setting_texts(given, client_of(group, member))


MODES: Mapping[tuple[str, str, bool, bool], str] = {
    ("auto", "batch", True, False): "auto",
    ("none", "batch", True, False): "none",
    ("sync", "batch", True, False): "sync-per-poll",
    ("async", "batch", True, False): "async-per-poll",
    ("sync", "record", True, False): "sync-per-record",
    ("sync", "record", False, False): "noargs-per-record",
    ("sync", "before", True, False): "sync-before",
    ("sync", "every", True, False): "timer",
    ("sync", "every", True, True): "timer-sync-on-revoke",
    ("store", "record", True, False): "store",
}
"""Commit modes by call, when, arguments and on_revoke."""


def mode_of(policy: model.CommitPolicy) -> str | None:
    """Return the captures' commit mode of a policy; None if there is none."""
    return MODES.get((policy.call, policy.when, policy.arguments, policy.on_revoke))


def _whole_ms(distribution: model.Distribution) -> int | None:
    """Return a constant number of milliseconds; None for anything else."""
    if not isinstance(distribution, model.Constant) or distribution.constant % MS:
        return None
    return distribution.constant // MS


# -- what cannot be captured -----------------------------------------------------------------------


def problems_of(scenario: model.Scenario) -> Iterator[Problem]:
    """Yield everything in a scenario that a capture cannot do."""
    if len(scenario.group) != 1:
        yield Problem("group", "a capture runs one group", len(scenario.group))
        return
    if scenario.network.loss or scenario.network.link:
        yield Problem("network", "a capture has no losses and no links of its own: loopback only")
    if not scenario.until_settled and scenario.run_for > LONGEST_US:
        yield Problem("run_for", "a capture lasts at most 30min", f"{scenario.run_for / 6e7:g}min")
    for topic in scenario.topic:
        yield from _topic_problems(topic)
    yield from _group_problems(scenario.group[0])
    for fault in scenario.fault:
        yield from _fault_problems(fault)


def _topic_problems(topic: model.Topic) -> Iterator[Problem]:
    path = f"topic[{topic.name}]"
    if not isinstance(topic.rate, float | int):
        yield Problem(f"{path}.rate", "a capture produces at a plain rate, such as 20/s")
    for key in ("skew", "keys", "leaders", "backlog_at"):
        if getattr(topic, key):
            yield Problem(f"{path}.{key}", "cannot be captured")
    if topic.retention is not None and topic.retention % MS:
        yield Problem(f"{path}.retention", "a capture needs whole milliseconds")
    if topic.created not in (0, "by act"):
        yield Problem(f"{path}.created", 'a capture creates it at the start or "by act"')


_PLAIN: Mapping[str, tuple[str, Any]] = {
    "handler": ("records are processed one by one in a capture", None),
    "poison": ("cannot be captured; the fault `hang` can", ()),
    "autoscaler": ("cannot be captured; acts that start and stop members can", None),
    "monitor": ("cannot be captured", ()),
    "close_operation": ("cannot be captured", "DEFAULT"),
    "coordinator": ("the offsets partition of the group decides it in a real cluster", None),
}


def _group_problems(group: model.Group) -> Iterator[Problem]:
    path = f"group[{group.id}]"
    for key, (reason, plain) in _PLAIN.items():
        if getattr(group, key) != plain:
            yield Problem(f"{path}.{key}", reason)
    if _whole_ms(group.listener) is None:
        yield Problem(f"{path}.listener", "a capture needs a fixed time in whole milliseconds")
    for member in group.members:
        yield from _member_problems(group, member, path)


def _member_problems(group: model.Group, member: model.Member, above: str) -> Iterator[Problem]:
    own = f"{above}.members[{member.name}]"
    if not has_listener(group, member):
        where = above if member.has_listener is None else own
        yield Problem(
            f"{where}.has_listener", "a captured consumer writes the calls of its listener"
        )
    policy = commit_policy(group, member)
    if _whole_ms(work_of(group, member)) is None:
        path = f"{above if member.work is None else own}.work"
        yield Problem(path, "a capture needs a fixed time in whole milliseconds")
    if mode_of(policy) is None or not _is_plain(policy):
        path = f"{above if member.commit is None else own}.commit"
        known = listed(sorted(set(MODES.values())))
        yield Problem(path, f"cannot be captured; commit modes of captures are {known}")
    if member.assign is not None:
        yield Problem(f"{own}.assign", "cannot be captured: members of captures subscribe")
    client = client_of(group, member)
    if client not in ("java", *LIBRARIES):
        yield Problem(f"{above}.client", f"cannot be captured; can: {listed(('java', *LIBRARIES))}")
    if (read_with := member.read_with or group.read_with) not in (None, *STYLES):
        yield Problem(f"{above}.read_with", f"cannot be captured; can: {listed(STYLES)}", read_with)
    given = {**group.settings, **member.settings}
    strategies = text_of_value(given.get(STRATEGY, "range")).split(",")
    kafkas = {*JAVA_ASSIGNORS, *JAVA_ASSIGNORS.values()}
    if client == "java" and not kafkas.issuperset(strategies):
        yield Problem(f"{above}.settings[{STRATEGY}]", "a capture has Kafka's own assignors only")
    if given.get(AUTO_COMMIT) is True and policy.call not in ("auto", "store"):
        yield Problem(f"{above}.settings[{AUTO_COMMIT}]", "with a commit policy it is off")


def _is_plain(policy: model.CommitPolicy) -> bool:
    """Return whether a policy has none of the habits that the traced application lacks."""
    odd = policy.off_by_one or policy.leader_epoch or policy.retries_older
    odd = odd or policy.on_refusal != "ignore" or policy.offsets != "frontier"
    if policy.when == "every":
        odd = odd or policy.every is None or policy.records is not None
        odd = odd or not policy.between_batches
    return not odd


def _fault_problems(fault: model.Fault) -> Iterator[Problem]:
    path = f"fault[{fault.id}]"
    if not isinstance(fault, CAPTURED):
        yield Problem(path, f'"{fault.verb}" cannot be captured', fault.verb)
    if isinstance(fault.when, model.Step):
        yield Problem(f"{path}.when", "a capture knows times, not steps of the protocol")
    if isinstance(fault, model.RollingRestart):
        for key in sorted(NOT_CAPTURED & fault.model_fields_set):
            yield Problem(f"{path}.{key}", "cannot be captured")
    if isinstance(fault, model.RollingBrokerRestart) and fault.brokers == "brokers":
        return
    broker = getattr(fault, "broker", "")
    if isinstance(broker, str) and broker.startswith("controller"):
        yield Problem(f"{path}.broker", "a capture acts on brokers only")


NOT_CAPTURED = {
    *("surge", "stop_at_failure", "max_unavailable", "start_up", "pre_stop", "names", "stand_in"),
    *("readiness", "ready_after", "canary", "canary_lag", "canary_errors", "roll_back"),
}
"""Keys of a rolling restart that an experiment may not set."""

CAPTURED = (
    model.AddPartitions,
    model.Close,
    model.Crash,
    model.CrashBroker,
    model.CreateTopic,
    model.DeleteTopic,
    model.Hang,
    model.Pause,
    model.PauseBroker,
    model.RollingRestart,
    model.Start,
    model.StopBroker,
)
"""Faults and acts that a capture can do."""
