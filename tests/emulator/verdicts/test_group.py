"""One group: growing lag, partitions without progress, and rebalances that wait for a member."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import Departure, LagSampled
from emulator.loading import ScenarioText, load_text
from emulator.verdicts.facts import Facts, GroupEnd
from emulator.verdicts.group import (
    MAX_CHECKPOINTS,
    SYNC,
    Growth,
    Progress,
    Stalled,
    Wait,
    Waits,
)
from emulator.verdicts.verdict import VerdictId, longest_wait, wait_text

from .test_problems import found

PARTITION = TopicPartition("orders", 0)

UNEVEN = """
title = "three topics of one partition each"
run_for = "70s"

[[topic]]
name = "orders"
partitions = 1
rate = "30/s"

[[topic]]
name = "refunds"
partitions = 1
rate = "30/s"

[[group]]
id = "billing"
topics = ["orders", "refunds"]
members = 2
work = "20ms"

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "range"
"""

WAITING = """
title = "a commit for each record"
run_for = "70s"
network.latency = "10ms"

[[topic]]
name = "orders"
partitions = 1
rate = "20/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 1
work = "40ms"
commit = { call = "sync", when = "record" }

[group.settings]
"auto.offset.reset" = "earliest"
"""

HALF_A_PARTITION_MORE = """
title = "three partitions for two members"
run_for = "70s"

[[topic]]
name = "orders"
partitions = 3
rate = "30/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "20ms"

[group.settings]
"auto.offset.reset" = "earliest"
"""

SMALL_BATCHES = (
    WAITING.replace('latency = "10ms"', 'latency = "40ms"')
    .replace('work = "40ms"', 'work = "80ms"')
    .replace("20/s", "8/s")
    .replace('"record" }', '"batch" }')
    + '"max.poll.records" = 1\n'
)

FAILING = (
    HALF_A_PARTITION_MORE.replace("30/s", "10/s")
    + """
[[group.poison]]
every = 20
error = "retry"
attempts = 3
backoff = "500ms"
then = "skip"
"""
)


def loaded(text: str, *changes: str):
    return load_text(ScenarioText("scenario", "scenario", text, Path()), changes)


@pytest.mark.parametrize(
    ("text", "verdict", "advice", "change"),
    [
        (
            UNEVEN,
            VerdictId.OVERLOAD,
            "range assigns topic by topic",
            ["group[billing].settings[partition.assignment.strategy]=roundrobin"],
        ),
        (
            WAITING,
            VerdictId.LAG_GROWS,
            "Call commitSync() after each batch, not after each record",
            ["group[billing].commit.when=batch"],
        ),
        (
            HALF_A_PARTITION_MORE,
            VerdictId.OVERLOAD,
            "Run at least 3 members",
            ["group[billing].members=3"],
        ),
        (
            SMALL_BATCHES,
            VerdictId.LAG_GROWS,
            "use a larger max.poll.records (now 1)",
            ["group[billing].settings[max.poll.records]=500"],
        ),
    ],
    ids=["uneven", "waiting", "even", "small batches"],
)
def test_lag_that_grows_although_all_members_together_are_fast_enough(
    text, verdict, advice, change
):
    """One member is overloaded, or members wait; the advice, applied, removes the verdict."""
    problems, hints = found(loaded(text))

    assert {verdict} == set(problems)
    assert advice in hints
    assert {} == found(loaded(text, *change))[0]


@pytest.mark.long
def test_the_changes_of_these_hints_are_those_that_help():
    """What is tried for even partitions, small batches and failing records is what was applied."""
    texts = (HALF_A_PARTITION_MORE, SMALL_BATCHES, FAILING)
    tried = [emulator.advise(loaded(text).scenario, seeds=1).trials[0] for text in texts]

    assert [(trial.proposal.id, trial.effect) for trial in tried] == [
        ("more-members", "better"),
        ("larger-batches", "better"),
        ("forward-failing", "better"),
    ]


def test_failing_records_and_their_back_offs_are_part_of_the_load():
    """A rule takes time from every record; the advice is not to wait less elsewhere."""
    problems, hints = found(loaded(FAILING))

    assert {VerdictId.OVERLOAD} == set(problems)
    assert "with their back-offs, need 72% of the time" in problems[VerdictId.OVERLOAD].sentence
    assert "send them to a retry topic" in hints
    assert "Members wait for commits" not in hints


def test_a_record_that_holds_up_its_partition_is_named():
    """Although its member stays in the group: max.poll.interval.ms has not passed."""
    poison = '\n[[group.poison]]\ntopic = "orders"\npartition = 0\noffset = 50\nwork = "30min"\n'
    text = UNEVEN.replace('"70s"', '"80s"').replace("range", "roundrobin") + poison
    problems, hints = found(loaded(text))

    assert {VerdictId.PARTITION_STALLED} == set(problems)
    assert "record 50 of orders-0" in problems[VerdictId.PARTITION_STALLED].sentence
    assert "max.poll.interval.ms (now 300000)" in hints


def sampled(produced: Sequence[int], processed: Sequence[int], every_s: int = 10) -> Progress:
    """Return the progress of one partition, a sample every ten seconds."""
    progress = Progress()
    progress.open(0, PARTITION, 0, "billing-0")
    for number, (end, done) in enumerate(zip(produced, processed, strict=True)):
        what = LagSampled(
            group="billing",
            partitions=(PARTITION,),
            log_ends=(end,),
            committed=(done,),
            processed=(done,),
        )
        progress.sample(number * every_s * 1_000_000, what)
    return progress


def test_lag_grows_if_it_grows_in_every_quarter():
    """A backlog that is worked off in one of them does not."""
    produced = [1000 * number for number in range(9)]
    slower = [900 * number for number in range(9)]
    caught_up = [*slower[:7], 6900, 7900]

    assert Growth(0, 8000, 0, 800) == sampled(produced, slower).growth(0)
    assert Growth(40_000_000, 4000, 400, 800) == sampled(produced, slower).growth(40_000_000)
    assert sampled(produced, caught_up).growth(0) is None
    assert sampled(produced, slower).growth(50_000_000) is None


def test_a_partition_that_waits_for_its_owner_is_not_held_up():
    """The owner works off a backlog of another partition first."""
    backlog = UNEVEN.replace('rate = "30/s"', 'rate = "1/s"\nbacklog = 9000', 1)
    text = backlog.replace('work = "20ms"', 'work = "9ms"').replace("members = 2", "members = 1")

    assert VerdictId.PARTITION_STALLED not in found(loaded(text))[0]


def test_a_long_run_keeps_few_checkpoints():
    """And still knows the lag of its beginning and end."""
    many = 3 * MAX_CHECKPOINTS
    progress = sampled(range(0, 10 * many, 10), range(0, 9 * many, 9))

    assert len(progress._checkpoints) <= MAX_CHECKPOINTS
    assert 0 == progress.growth(0).before
    assert progress.growth(0).after > 0.9 * many


def test_a_partition_stalls_from_the_last_checkpoint_with_progress():
    """An idle partition does not, nor one that goes on."""
    stalled = sampled([100, 200, 300, 400], [100, 150, 150, 150])

    assert [Stalled(PARTITION, 150, 10_000_000, 250, 10_000_000)] == [*stalled.stalled()]
    assert [] == [*sampled([100, 100, 100], [100, 100, 100]).stalled()]
    assert [] == [*sampled([100, 200, 300], [50, 50, 60]).stalled()]


def test_a_rebalance_waits_for_the_last_member_that_gives_its_partitions_up():
    """The others joined again before it; the wait began with the rebalance, not with its reasons."""
    waits = Waits()
    waits.begin(10, "")
    waits.revoke("a")
    waits.begin(20, "")
    waits.revoke("b")
    waits.join(70)

    assert waits.longest == Wait(60, ("b",))


def test_a_rebalance_that_ends_with_removals_waited_for_these_members():
    """A member that was removed earlier did not end it."""
    waits = Waits()
    waits.begin(10, "")
    waits.revoke("a")
    waits.remove(30, "b", Departure.EXPIRED)
    waits.remove(70, "c", Departure.DID_NOT_REJOIN)
    waits.remove(70, "d", Departure.DID_NOT_REJOIN)
    waits.join(70)

    assert waits.longest == Wait(60, ("c", "d"))


def test_members_that_send_no_sync_group_are_waited_for_after_the_join_phase():
    """A member that leaves a stable group is not waited for, and a shorter wait is forgotten."""
    waits = Waits()
    waits.begin(10, "")
    waits.join(20)
    assert waits.longest is None

    waits.remove(80, "a", Departure.DID_NOT_SYNC)
    waits.remove(90, "b", Departure.LEFT)
    waits.begin(100, "")
    waits.revoke("b")
    waits.join(110)

    assert waits.longest == Wait(60, ("a",), SYNC)


def test_a_wait_for_a_session_names_when_the_process_ended():
    """The member died 18 s after the others began to join, and its session ended 45 s later."""
    waits = Waits()
    waits.begin(0, "")
    waits.remove(63_000_000, "billing-2", Departure.EXPIRED, 18_000_000)
    waits.join(63_000_000)

    facts = Facts(ended_us=0, groups=(GroupEnd(group="billing", longest_wait=waits.longest),))

    assert wait_text(longest_wait(facts, "orders-0", 63)) == (
        ": a rebalance waited 1 min 3 s for billing-2: 18 s until its process ended, then 45 s until "
        "the session expired (session.timeout.ms)"
    )


def test_a_wait_for_the_session_of_a_running_member_is_no_wait_for_its_poll():
    """It was paused or cut off."""
    waits = Waits()
    waits.begin(0, "")
    waits.remove(45_000_000, "billing-2", Departure.EXPIRED)
    waits.join(45_000_000)

    assert waits.longest == Wait(45_000_000, ("billing-2",), expired=True)


def test_a_sync_phase_that_another_rebalance_ends_is_a_wait():
    """Not one that ended with a stable group; nor is a removal without SyncGroup counted as both."""
    waits = Waits()
    waits.begin(0, "new")
    waits.join(10)
    waits.begin(310, "g-1")

    assert waits.longest == Wait(300, ("g-1",), SYNC, again=True)
    assert wait_text(waits.longest).endswith("for SyncGroup, until g-1 began another")

    calm = Waits()
    calm.join(10)
    calm.syncing = False
    calm.begin(310, "g-1")
    assert calm.longest is None

    removed = Waits()
    removed.join(10)
    removed.remove(70, "g-2", Departure.DID_NOT_SYNC)
    removed.begin(70, "g-2")
    assert removed.longest == Wait(60, ("g-2",), SYNC)
