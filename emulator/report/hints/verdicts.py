"""Hints for verdicts: what to change if members died, loop, or a partition had no owner for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from emulator.report.hints import failures as failure_hints
from emulator.report.hints import removals as removal_hints
from emulator.report.hints.advice import with_values
from emulator.report.hints.cases import GivenHint, can_become_static
from emulator.report.hints.lag import Given, lag_grows, now, overload
from emulator.report.hints.of_verdicts import NEW_MEMBER, VERDICT_HINTS
from emulator.report.subject import GroupFacts, Subject
from emulator.report.wording import counted, duration
from emulator.verdicts.facts import POLL_TOO_LATE
from emulator.verdicts.verdict import Verdict, VerdictId

NEW_MEMBER_S = 300
"""GroupMetadata.newMemberJoinTimeoutMs (KAFKA-7610)."""

HEARTBEATS_A_SESSION = 3
"""Kafka's advice: the heartbeat interval is at most a third of the session timeout."""


def verdict_hints(subject: Subject, verdicts: tuple[Verdict, ...]) -> list[GivenHint]:
    """Return the hints for the problems of a run, in order of the verdicts."""
    found: dict[GivenHint, None] = {}
    for verdict in verdicts:
        group = subject.group(verdict.group) if verdict.group else subject.groups[0]
        advise = ADVICE.get(verdict.id)
        if advise is not None:
            for name, text, has_numbers in advise(verdict, group, verdicts):
                assert name in VERDICT_HINTS[verdict.id], f"{name} is not in VERDICT_HINTS"
                causes = (verdict.id.value.replace("-", " "),)
                in_force = with_values(text, subject, group)
                hint = GivenHint(name, in_force, group.id, has_numbers=has_numbers, causes=causes)
                found[hint] = None
    return list(found)


Advise = Callable[[Verdict, GroupFacts, tuple[Verdict, ...]], Iterator[Given]]


def batch(group: GroupFacts) -> str:
    """Return how long a full batch takes, or a record of workers, with the numbers behind it."""
    if group.handler:
        return (
            f"A record takes {duration(group.work_us / 1_000_000)} on average, with {group.handler}"
        )
    records = int(group.value("max.poll.records"))
    each_s = group.work_us / 1_000_000
    text = (
        f"A full batch of {records} records of {duration(each_s)} each takes "
        f"{duration(records * each_s)} on average"
    )
    if group.listener_us:
        text += f", a call of the rebalance listener {duration(group.listener_us / 1_000_000)}"
    return text


# -- members that drop out -----------------------------------------------------------------------


def _loop(verdict: Verdict, group: GroupFacts, all_of: tuple[Verdict, ...]) -> Iterator[Given]:
    reasons = verdict.reasons
    if POLL_TOO_LATE in reasons:
        stuck = [
            each
            for each in all_of
            if each.id is VerdictId.PARTITION_STUCK and each.group == group.id
        ]
        yield from _poll_too_late(group, one_record=any(_by_record(group, each) for each in stuck))
    if "session expired" in reasons:
        waited_s = max(each.numbers.get("rebalance_s", 0) for each in all_of)
        if waited_s >= NEW_MEMBER_S:
            yield Given("shorter-rebalance", NEW_MEMBER)
        else:
            yield from _session_expired(group)
    if reasons & {
        "did not rejoin in time",
        "did not sync in time",
        "did not give partitions up in time",
    }:
        yield Given(
            "rebalance-timeout",
            f"A rebalance waits for each member up to {now(group, 'max.poll.interval.ms')}, and "
            f"removes those that take longer. Raise it above the longest batch and listener call "
            f"together, or shorten both. {batch(group)}.",
        )


def _by_record(group: GroupFacts, stuck: Verdict) -> bool:
    """Return whether one record holds a partition up: a slow one, or batches are short enough."""
    if group.handler or stuck.numbers.get("slow"):
        return True
    interval_us = group.shortest_interval_ms * 1_000
    batch_us = int(group.value("max.poll.records")) * group.work_us
    return group.slowest_us > interval_us or batch_us <= interval_us


def _poll_too_late(group: GroupFacts, *, one_record: bool) -> Iterator[Given]:
    interval_ms = group.shortest_interval_ms
    name = now(group, "max.poll.interval.ms")
    if group.deployed_interval_ms is not None:
        name = f"max.poll.interval.ms ({interval_ms} in a deploy)"
    yield Given(
        "poll-in-time",
        f"Set {name} above the longest time between two calls of poll(). {batch(group)}"
        f"{_slowest(group)}, and the interval is {duration(interval_ms / 1_000)}.",
    )
    if one_record:
        yield Given(
            "slow-record",
            "One record alone takes longer than the interval: a smaller max.poll.records does not "
            "help. Process it in another thread while poll() continues, or write it to a dead letter "
            "topic.",
        )


def _slowest(group: GroupFacts) -> str:
    """Return a clause about the record that takes longest; empty if all are alike."""
    if group.slowest_us <= group.work_us:
        return ""
    return f", the slowest record {duration(group.slowest_us / 1_000_000)}"


def _session_expired(group: GroupFacts) -> Iterator[Given]:
    heartbeat_ms = int(group.value("heartbeat.interval.ms"))
    session_ms = int(group.value("session.timeout.ms"))
    if heartbeat_ms * HEARTBEATS_A_SESSION > session_ms:
        yield Given(
            "heartbeats-per-session",
            f"Set {now(group, 'heartbeat.interval.ms')} to at most a third of "
            f"{now(group, 'session.timeout.ms')}: one late heartbeat is enough to remove a running "
            f"member.",
        )
    else:
        yield Given(
            "session-above-pauses",
            f"Set {now(group, 'session.timeout.ms')} above the pauses and network failures that a "
            f"member survives. Trade-off: a real crash is detected later.",
        )


# -- partitions without owners ---------------------------------------------------------------------


def _assign_every(left_out: int) -> Given:
    return Given(
        "assign-every-partition",
        f"No assignment had {counted(left_out, 'partition')}: let the assignor give each partition of the "
        "subscribed topics to a member. Nothing in Kafka notices one that it leaves out.",
    )


def _long_downtime(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    if verdict.numbers.get("left_out"):
        yield _assign_every(int(verdict.numbers["left_out"]))
        return
    if verdict.numbers.get("unsynced"):
        yield Given(
            "rebalance-timeout",
            f"A member joined and sent no SyncGroup: its partitions wait until the coordinator removes it, "
            f"after {now(group, 'max.poll.interval.ms')} (KAFKA-12890; older brokers wait without end). A "
            f"smaller interval bounds the wait.",
        )
    rebalance_s = verdict.numbers.get("rebalance_s", 0)
    if rebalance_s < verdict.numbers["longest_s"] / 2 or verdict.numbers.get("session_expired"):
        return
    if group.joins_s > rebalance_s / 3 and can_become_static(group):
        yield Given(
            "static-membership",
            f"Each rebalance takes {duration(group.joins_s)}, as the coordinator handles the JoinGroup "
            f"requests of {counted(group.max_running, 'member')} one after the other. With a group.instance.id for "
            f"each member, restarts within {now(group, 'session.timeout.ms')} cause none.",
        )
        return
    waited = (
        f"A rebalance took {duration(rebalance_s)}: it waits for every member to call poll(), at "
        f"most {now(group, 'max.poll.interval.ms')}."
    )
    if not group.stays_eager:
        yield Given(
            "rebalance-timeout",
            f"{waited} A smaller interval, or shorter batches and listener calls, bound the wait.",
        )
    else:
        yield Given(
            "cooperative",
            f"{waited} With the eager protocol all partitions stop meanwhile: with "
            f"partition.assignment.strategy=cooperative-sticky or group.protocol=consumer the other "
            f"members continue ({group.switch}). A smaller interval bounds the wait.",
        )


def _topic_rebalances(
    verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]
) -> Iterator[Given]:
    yield Given("stable-topics", VERDICT_HINTS[verdict.id]["stable-topics"])
    if group.stays_eager:
        yield Given(
            "cooperative",
            f"With partition.assignment.strategy=cooperative-sticky or group.protocol=consumer partitions "
            f"that keep their owner continue while topics change ({group.switch}).",
        )


def _found_late(_verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    if not group.finds_topics:
        return
    yield Given(
        "smaller-metadata-age",
        f"New partitions and topics are found by the next metadata refresh, after at most "
        f"{now(group, 'metadata.max.age.ms')}: a smaller value finds them sooner. With "
        f"auto.offset.reset=latest the records until then are lost.",
    )


def _unread(verdict: Verdict, _: GroupFacts, _all: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given("reset-to-earliest", VERDICT_HINTS[verdict.id]["reset-to-earliest"])


def _stalled(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    if not verdict.numbers["slow"]:
        return
    if group.queue:
        text = (
            "One record holds up its partition, and nothing reports it as long as poll() goes on beside its "
            "worker: limit the time of a record in the handler, or write it to a dead letter topic."
        )
    else:
        text = (
            f"One record holds up its partition, and nothing reports it before "
            f"{now(group, 'max.poll.interval.ms')}: limit the time of a record in the handler, process "
            f"it in another thread, or write it to a dead letter topic."
        )
    yield Given("slow-record", text)


def _shared_group(_verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given(
        "separate-groups",
        f"Give each application its own group.id instead of {group.id}: a member that joins, leaves or "
        f"fails then rebalances only the members that read the same topics.",
    )


def _handover(_verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given(
        "keep-group-id",
        f"Keep the group id across deploys: {group.id} has no offsets when it starts, so "
        f"{now(group, 'auto.offset.reset')} decides where it begins. If the id has to change, stop the old "
        f"group, give the new one its offsets (kafka-consumer-groups --reset-offsets --execute), then "
        f"start it.",
    )


def _flaps(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given(
        "longer-stabilization",
        f"Give the autoscaler of {group.id} a longer stabilization window downwards (scale_down."
        f"stabilization_window, in Kubernetes stabilizationWindowSeconds): a step down waits until no "
        f"recommendation of that time asks for more. Its steps undid each other every "
        f"{duration(verdict.numbers['every_s'])}. KEDA's cooldownPeriod delays only the step to zero. "
        f"Trade-off: replicas stay longer than needed.",
    )


def _idle(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given(
        "no-idle-replicas",
        f"Allow the autoscaler of {group.id} no replicas without work: at most as many as partitions "
        f"(max_replicas, or allow_idle_consumers = false in KEDA), or as partitions with lag "
        f"(limit_to_partitions_with_lag). {verdict.numbers['idle_hours']:.2f} replica-hours did nothing.",
    )


def _repeats(verdict: Verdict, _: GroupFacts, _all: tuple[Verdict, ...]) -> Iterator[Given]:
    yield Given("commit-before-handover", VERDICT_HINTS[verdict.id]["commit-before-handover"])


def _monitor_wrong(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    numbers = verdict.numbers
    if not numbers["missed"]:
        return
    if not numbers["sees_commits"]:
        yield Given("monitor-offsets", VERDICT_HINTS[verdict.id]["monitor-offsets"])
    elif numbers["window"]:
        yield Given(
            "monitor-window",
            f"Burrow calls a partition stopped when its last commit is older than the time between the "
            f"first and the last of {counted(int(numbers['window']), 'commit')}, and the standstill was "
            f"shorter. Commit more often ({now(group, 'auto.commit.interval.ms')}), let the window have "
            f"fewer commits (intervals), or add a rule on lag.",
        )


def _stopped(verdict: Verdict, _: GroupFacts, _all: tuple[Verdict, ...]) -> Iterator[Given]:
    if verdict.reasons:
        name = "readiness-of-the-process"
        yield Given("readiness-of-the-process", VERDICT_HINTS[verdict.id][name])


def _unavailable(verdict: Verdict, _: GroupFacts, _all: tuple[Verdict, ...]) -> Iterator[Given]:
    of = "{offsets.topic.replication.factor}"
    if "commits_s" not in verdict.numbers:
        of = "{default.replication.factor} and topics of their own number"
    yield Given(
        "three-replicas",
        f"A partition needs a broker with an in-sync replica that runs: use three replicas for {of}, and "
        f"restart brokers one at a time.",
    )


ADVICE: Mapping[VerdictId, Advise] = {
    VerdictId.MEMBER_LOOP: _loop,
    VerdictId.MEMBERS_DIED: failure_hints.died,
    VerdictId.GROUP_DEAD: failure_hints.died,
    VerdictId.LONG_DOWNTIME: _long_downtime,
    VerdictId.UNAVAILABLE: _unavailable,
    VerdictId.DELETED_TOPIC: removal_hints.deleted_topics,
    VerdictId.TOPIC_REBALANCES: _topic_rebalances,
    VerdictId.FOUND_LATE: _found_late,
    VerdictId.BACKLOG_UNREAD: _unread,
    VerdictId.PARTITION_STALLED: _stalled,
    VerdictId.OVERLOAD: overload,
    VerdictId.LAG_GROWS: lag_grows,
    VerdictId.LISTENER_THREW: lambda *_: iter((failure_hints.LISTENER_CATCHES,)),
    VerdictId.KILLED_IN_GROUP: removal_hints.killed,
    VerdictId.REMOVED_IN_CLOSE: removal_hints.removed_in_close,
    VerdictId.REMOVED_ASSIGNING: removal_hints.removed_assigning,
    VerdictId.SHARED_GROUP: _shared_group,
    VerdictId.GROUP_HANDOVER: _handover,
    VerdictId.AUTOSCALER_FLAPS: _flaps,
    VerdictId.IDLE_REPLICAS: _idle,
    VerdictId.SCALING_REPEATS: _repeats,
    VerdictId.DEPLOY_STOPPED: _stopped,
    VerdictId.MONITOR_WRONG: _monitor_wrong,
}
