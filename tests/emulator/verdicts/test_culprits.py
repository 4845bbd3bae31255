"""Verdicts name what is behind a problem: the record, the member, the broker or the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import ConsumerStopped, FaultBegan, LagSampled
from emulator.loading import LoadedScenario
from emulator.report.hints.verdicts import verdict_hints
from emulator.scenario.estimates.loads import loads_of
from emulator.subjects import subject_of
from emulator.verdicts.facts import Repeated
from emulator.verdicts.group import Progress, Stuck
from emulator.verdicts.loops import _in_loops
from emulator.verdicts.verdict import VerdictId, culprit

SCENARIO = """
title = "three members"
run_for = "2min"
topic = [{ name = "orders", partitions = 6, rate = "5/s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 3
work = "4ms"
settings = { "auto.offset.reset" = "earliest" }
"""
POISON = "group[billing].poison"
PARTITION = TopicPartition("orders", 0)
SLOW_MEMBER = 'group[billing].member=[{ name = "billing-2", work = "150ms" }]'


def played(*changes: str):
    """Return the verdicts of the scenario with some changes, by id, and its hints, by id."""
    scenario = emulator.loads(SCENARIO, overrides=changes)
    loaded = LoadedScenario("three", (), scenario, Path())
    run = emulator.run(loaded.scenario, keep_events=False)
    hints = {each.id: each.text for each in verdict_hints(subject_of(loaded), run.verdicts)}
    return {each.id: each for each in run.verdicts}, hints


def test_a_record_that_kills_each_of_its_owners_is_named():
    """With what to do about it."""
    found, hints = played(
        f'{POISON}=[{{ topic = "orders", partition = 1, offset = 60, error = "stop" }}]',
        "group[billing].settings[session.timeout.ms]=6s",
    )

    assert "the handler raised at record 60 of orders-1" in found[VerdictId.GROUP_DEAD].sentence
    assert "dead letter topic" in hints["catch-in-handler"]


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("order", ["partition", "key", "none"])
@pytest.mark.parametrize(
    "rule", ['work = "30min"', 'error = "retry", attempts = 1000, backoff = "10s"']
)
def test_a_record_that_keeps_a_worker_busy_is_named(order, rule):
    """A slow or failing one, although its member polls on."""
    poison = f'{POISON}=[{{ topic = "orders", partition = 1, offset = 60, {rule} }}]'
    pool = f'group[billing].handler={{ workers = 4, order = "{order}" }}'
    found, hints = played(poison, pool)

    assert {VerdictId.PARTITION_STALLED} == {*found}
    assert found[VerdictId.PARTITION_STALLED].sentence.endswith(
        "; record 60 of orders-1 is the one that takes long or fails"
    )
    assert "poll() goes on beside its worker" in hints["slow-record"]


@pytest.mark.parametrize("order", ["partition", "key", "none"])
def test_a_record_that_kills_is_the_root_of_what_its_pool_leaves_behind(order):
    """The fault is written when a worker begins the record, and not when it was polled."""
    poison = f'{POISON}=[{{ topic = "orders", partition = 1, offset = 60, error = "stop" }}]'
    pool = f'group[billing].handler={{ workers = 4, order = "{order}" }}'
    run = emulator.run(emulator.loads(SCENARIO, overrides=[poison, pool]))
    (met,) = [event for event in run.events if isinstance(event.what, FaultBegan)]
    stopped = [event for event in run.events if isinstance(event.what, ConsumerStopped)]

    assert met.what.target == f"record 60 of orders-1 at {stopped[0].what.consumer}"
    assert stopped[0].at_us - met.at_us == 4_000
    assert "poison-1" in {entry.root.id for entry in run.ledger.entries if entry.root}


@pytest.mark.parametrize(
    ("change", "error", "hint", "said"),
    [
        (
            "group[billing].settings[session.timeout.ms]=4s",
            "INVALID_SESSION_TIMEOUT",
            "session-within-limits",
            "between group.min.session.timeout.ms (now 6000)",
        ),
        (
            "cluster.settings[group.max.size]=2",
            "GROUP_MAX_SIZE_REACHED",
            "group-max-size",
            "raise group.max.size (now 2)",
        ),
    ],
)
def test_the_limits_of_brokers_are_named(change, error, hint, said):
    """With their values."""
    found, hints = played("run_for=10s", change)
    dead = found.get(VerdictId.GROUP_DEAD) or found[VerdictId.MEMBERS_DIED]

    assert error in dead.sentence
    assert said in hints[hint]


@pytest.mark.parametrize("client", ["librdkafka", "aiokafka"])
@pytest.mark.parametrize(
    ("session", "asked"), [("45", True), ("999", True), ("1000", False), ("5", False)]
)
def test_a_session_in_seconds_is_recognised(client, session, asked):
    """These clients accept it; the first words ask for it where its thousandfold would be accepted."""
    key = "group[billing].settings"
    _, hints = played(
        "run_for=10s", f"group[billing].client={client}", f"{key}[session.timeout.ms]={session}"
    )
    question = f"session.timeout.ms = {session} is {session} ms; did you mean {session}000? "

    assert asked == hints["session-within-limits"].startswith(question)


def test_a_slow_member_is_an_overload_before_the_run():
    """An assignor gives it two partitions, as all others; a faster one ends the lag."""
    found, hints = played(SLOW_MEMBER)
    verdict = found[VerdictId.OVERLOAD]
    fast = emulator.loads(SCENARIO, overrides=[SLOW_MEMBER.replace("150ms", "50ms")])
    (load,) = loads_of(fast)

    assert verdict.sentence.startswith(
        "billing-2, the slowest of the 3 members of billing, gets at least 2 of the 6 partitions: 10 "
        "records arrive for it per second, and it can process at most 6.67"
    )
    assert "a record takes billing-2 150 ms, and billing-0 4 ms" in hints["equal-members"]
    assert not load.is_overload


def test_a_slow_member_may_get_no_partition_of_few():
    """With more members than partitions nothing is known of its load before the run."""
    (many,) = loads_of(
        emulator.loads(SCENARIO, overrides=["group[billing].members=7", SLOW_MEMBER])
    )

    assert not many.is_overload


def test_a_group_without_a_process_is_called_so():
    """All of its members crash, and none is started again."""
    crashes = [f'fault+={{ crash = "billing-{number}", at = "20s" }}' for number in range(3)]
    found, _ = played(*crashes)

    assert found[VerdictId.LONG_DOWNTIME].sentence.endswith("no process of billing runs any more")
    assert found[VerdictId.WITHOUT_OWNER].sentence.endswith("no process of billing runs any more")


@pytest.mark.long
def test_a_coordinator_without_a_replica_is_named():
    """The lag of a classic group grows for it, so that polls are not advised."""
    found, hints = played(
        "cluster.settings[offsets.topic.replication.factor]=1",
        'fault+={ crash_broker = "coordinator of billing", at = "20s" }',
    )

    assert {VerdictId.UNAVAILABLE} == {*found}
    assert "billing had no coordinator that accepts commits for 1 min 40 s" in (
        found[VerdictId.UNAVAILABLE].sentence
    )
    assert "offsets.topic.replication.factor (now 1)" in hints["three-replicas"]


def test_partitions_without_a_leader_are_named():
    """Their only replica is down: nothing is read, whatever the members can process."""
    found, _ = played(
        "topic[orders].replicas=1", 'fault+={ crash_broker = "broker-1", at = "20s" }'
    )

    assert {VerdictId.UNAVAILABLE} == {*found}
    assert "2 partitions had no new readable records" in found[VerdictId.UNAVAILABLE].sentence


def test_an_idle_group_is_not_said_to_let_records_wait():
    """None is produced, or none behind the offsets at which it began, or all are skipped."""
    idle, _ = played("run_for=20s", "topic[orders].rate=0/s")
    at_end, _ = played(
        "run_for=20s",
        "topic[orders].rate=0/s",
        "topic[orders].backlog=50",
        "group[billing].settings[auto.offset.reset]=latest",
    )
    skipped, _ = played("run_for=20s", f'{POISON}=[{{ every = 1, error = "skip" }}]')

    assert idle[VerdictId.NOTHING_PROCESSED].sentence == (
        "nothing was processed: no record was produced"
    )
    assert at_end[VerdictId.NOTHING_PROCESSED].sentence == (
        "nothing was processed: no record arrived after the offsets at which its owners began"
    )
    assert at_end[VerdictId.BACKLOG_UNREAD].numbers == {"records": 300}
    assert skipped[VerdictId.NOTHING_PROCESSED].sentence.startswith(
        "nothing was processed: the handler failed on"
    )
    assert not skipped[VerdictId.NOTHING_PROCESSED].inconclusive


def test_the_partition_with_the_slow_record_is_named_not_its_neighbours():
    """They have the same owner, and may have waited longer."""
    first, second = (
        Stuck(f"orders-{number}", 290, owners, 9) for number, owners in ((0, 9), (1, 4))
    )
    records = ["record 300 of orders-1"]

    assert culprit([first, second], records, lambda each: each.owners)[0] is second
    assert culprit([first, second], [], lambda each: each.owners) == (first, "")


def test_drop_outs_of_several_members_are_a_loop_if_one_comes_again():
    """Three members that drop out once each are none: one fault explains that."""
    late = [Repeated(f"billing-{number}", "no poll() in time", 1) for number in range(3)]
    again = [*late[:1], Repeated("billing-1", "no poll() in time", 2)]
    other = Repeated("billing-2", "session expired", 1)

    assert _in_loops(late) == []
    assert _in_loops([*again, other]) == again


def test_restarts_of_a_deploy_make_no_partition_stuck():
    """Each rebalance opens a partition anew that waits behind a backlog of others; the deploy ends."""
    progress = Progress()
    for at_us in range(6):
        progress.open(at_us, PARTITION, 40, "billing-0")
    progress.sample(
        9,
        LagSampled(
            group="billing",
            partitions=(PARTITION,),
            log_ends=(90,),
            committed=(40,),
            processed=(40,),
        ),
    )

    assert [Stuck(PARTITION, 40, 4, 50)] == [*progress.stuck(2)]
    assert [] == [*progress.stuck(3)]


def test_a_group_that_never_commits_is_not_stuck_for_it():
    """Each owner begins at offset 0, but all records are processed."""
    restarts = [f'act+={{ rolling_restart = "billing", at = "{at}s" }}' for at in (20, 40)]
    found, _ = played("run_for=70s", "group[billing].commit=none", *restarts)

    assert VerdictId.PARTITION_STUCK not in found


def test_a_static_member_that_is_back_before_its_session_ends_is_told_so():
    """It is alone with its id, and the coordinator of the consumer protocol refuses it until then."""
    changes = [
        "run_for=90s",
        "group[billing].static=true",
        "group[billing].settings[group.protocol]=consumer",
    ]
    crash = 'fault+={{ crash = "billing-1", at = "20s", restart_after = "{}" }}'
    _, hints = played(*changes, crash.format("5s"))
    later, _ = played(*changes, crash.format("50s"))

    assert ["restart-after-session"] == [*hints]
    assert "after group.consumer.session.timeout.ms (now 45000)" in hints["restart-after-session"]
    assert {} == later
