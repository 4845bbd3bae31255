"""Faults aimed at a step strike inside it: after what it names, before what would follow."""

from __future__ import annotations

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitSent,
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStopped,
    EpochClosed,
    FaultMissed,
    GroupStabilised,
    JoinPhaseEnded,
    ListenerCalled,
    MemberAdded,
    MemberRemoved,
    PartlyProcessed,
    Polled,
    Processed,
    RequestsCounted,
)
from emulator.scenario.short_forms import STEPS as ALL_STEPS
from emulator.scenario.tables.faults import MessageMatch, Step
from emulator.world.kernel import Kernel
from emulator.world.triggers import STEPS_OF, Chosen, ChosenMessages, Interference, Triggers

from ..stage import SECOND
from ..stage import staged as fully_staged

STEPS = [step for step in ALL_STEPS if step not in STEPS_OF["consumer"]]
"""Those that a member of the classic protocol reaches."""

GROUP = """commit = "sync"
work = "5ms"

[[group.member]]
name = "late"
start = "by act"
"""
TOPIC = 'partitions = 6\nrate = "4/s"'


def staged(more="", **options):
    """Play at a low rate: it is the steps that count here."""
    return fully_staged(more, topic=TOPIC, **options)


CAUSES = {
    "closing": '[[act]]\nid = "act"\nclose = "g-1"\nat = "8s"\n',
    "sent LeaveGroup": '[[act]]\nid = "act"\nclose = "g-1"\nat = "8s"\n',
    "revoking": '[[act]]\nid = "act"\nstart = "late"\nat = "8s"\n',
    "revoked": '[[act]]\nid = "act"\nstart = "late"\nat = "8s"\n',
}
"""What makes a member reach a step that it would not reach by itself."""


def aimed(verb, step, member="g-1", more="", **options):
    text = f'[[fault]]\nid = "x"\n{verb}\nwhen = "{member} {step}"\n{more}\n'
    options = {"group": GROUP, "run_for": "16s", **options}
    return staged(text + CAUSES.get(step, ""), **options)


def crashed(step, **options):
    return aimed('crash = "g-1"', step, **options)


def seen_of(run, member="g-1"):
    """Return the events of one member with their distance from the fault, in events."""
    began = run.all(ConsumerStopped, consumer=member)[0].row
    return [e for e in run.events if getattr(e.what, "consumer", "") == member], began


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_dies_at_a_step_does_nothing_after_it(step):
    """Its sent requests arrive, later ones are not sent; the event has its name."""
    run = crashed(step)
    mine, died = seen_of(run)
    later = [event for event in mine if event.row > died]
    own = (ListenerCalled, CommitSent, CommitAnswered, Processed, Polled)

    assert not [event for event in later if isinstance(event.what, own)]
    assert {"g-0", "g-1", "g-2", "late"} >= {e.what.consumer for e in run.all(MemberAdded)}
    assert [] == run.all(FaultMissed)


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_is_paused_at_a_step_goes_on_there(step):
    """Nothing of it happens during the pause; then everything does that would have followed."""
    run = aimed('pause = "g-1"\nfor = "1500ms"', step)
    began, ended = run.only(ConsumerPaused).at_us, run.only(ConsumerResumed).at_us
    own = (ListenerCalled, CommitSent, CommitAnswered, Processed, EpochClosed)
    during = [
        event
        for event in run.all(own, consumer="g-1")
        if began <= event.at_us < ended and event.row > run.only(ConsumerPaused).row
    ]

    assert began + 1_500_000 == ended
    assert [] == during
    assert run.after(ended, own, consumer="g-1") or "LeaveGroup" in step
    assert [] == [event for event in run.all(MemberRemoved) if event.what.why != "left"]
    assert 0 == run.run.ledger.lost


# -- the two aims everybody asks for -----------------------------------------------------------


@pytest.mark.parametrize("leader", [True, False])
def test_when_a_member_has_sent_its_sync_group(leader):
    """The request is on its way: the leader's brings the assignment, and its sender is dead."""
    usual = staged(group=GROUP, run_for="16s")
    named = usual.only(JoinPhaseEnded).what.leader
    member = named if leader else next(m for m in ("g-0", "g-1") if m != named)
    run = aimed(f'crash = "{member}"', "sent SyncGroup", member=member)
    joined, stable = run.first(JoinPhaseEnded), run.first(GroupStabilised)

    assert joined.at_us < run.began_us("x") < stable.at_us
    assert member in dict(stable.what.assignment)
    assert [] == run.all(ListenerCalled, consumer=member)
    assert ["session expired"] == [e.what.why for e in run.all(MemberRemoved, consumer=member)]
    counted = sum(dict(e.what.counts).get("SyncGroup", 0) for e in run.all(RequestsCounted))
    assert 3 + 2 == counted


def test_between_the_last_record_of_a_batch_and_its_commit():
    """All of the batch is done and none of it is committed: exactly that is repeated."""
    run = crashed("batch done", member="g-1", run_for="30s")
    (done,) = [e.what for e in run.all(Processed, consumer="g-1")]

    assert [] == run.all(CommitSent, consumer="g-1")
    assert [] == run.all(PartlyProcessed)
    assert done.next_offset - done.first == run.run.ledger.reprocessed


def test_a_later_batch_can_be_chosen_by_its_number():
    """Three are committed, the fourth is not."""
    text = '[[fault]]\nid = "x"\ncrash = "g-1"\nwhen = { member = "g-1", step = "batch done", nth = 4 }'
    run = staged(text, group=GROUP, run_for="16s")

    assert 3 == len(run.all(CommitSent, consumer="g-1"))


def test_steps_before_a_time_may_not_count():
    """The first batch that is done from then on is meant."""
    when = '{ member = "g-1", step = "batch done", after = "8s" }'
    run = staged(f'[[fault]]\nid = "x"\ncrash = "g-1"\nwhen = {when}', group=GROUP, run_for="16s")

    assert 8 * SECOND <= run.began_us("x") <= 9 * SECOND


def test_a_step_counts_from_its_time_on():
    """A step at that very time is the first that counts."""
    kernel, reached = Kernel(), []
    triggers = Triggers(kernel)
    triggers.wait(Step(member="g-1", step="polled", after=10), lambda: reached.append(kernel.now))
    for when in (9, 10, 11):
        kernel.at(when, 0, 0, lambda _: triggers.reached("g-1", "polled"))
    kernel.run(100)

    assert [10] == reached


@pytest.mark.parametrize("step", ["sent Heartbeat", "polled", "commit sent", "record done"])
def test_members_poll_by_arithmetic_until_a_step_counts(step):
    """The fault strikes where it does if each poll is an event."""
    when = f'{{ member = "g-1", step = "{step}", after = "30s" }}'
    late = fully_staged(f'[[fault]]\nid = "x"\ncrash = "g-1"\nwhen = {when}', run_for="36s").run
    exact = emulator.run(late.scenario, mode="exact", keep_events=False)
    waits = late.folded.live_shares().get("a fault waits for a step of a member", 0)

    assert exact.digest == late.digest
    assert waits > 0.5 if step == "record done" else waits < 0.2


def test_a_message_is_chosen_only_before_its_time():
    """A message sent at that very time is not; a message of another kind is never."""
    match = MessageMatch(kind="Heartbeat", part="request", member="g-1", before=10)
    for when, found in ((9, Interference(7, loses=True)), (10, Interference())):
        chosen = ChosenMessages()
        chosen.add(Chosen(match, lambda _: Interference(7, loses=True)))

        assert Interference() == chosen.interference("JoinGroup", "request", "g-1", 9)
        assert found == chosen.interference("Heartbeat", "request", "g-1", when)


# -- what each step comes after, and before ----------------------------------------------------


def test_polled_is_before_the_first_record():
    """Records are in hand and untouched."""
    closed = crashed("polled").all(EpochClosed, consumer="g-1")

    assert 0 == sum(event.what.processed for event in closed)
    assert 0 < sum(event.what.position for event in closed)


@pytest.mark.parametrize("commit", ["sync", "auto", "sync per record", "sync before"])
def test_record_done_is_behind_that_record_under_any_policy(commit):
    """Also where nothing else would look at single records."""
    when = '{ member = "g-1", step = "record done", nth = 5 }'
    run = staged(
        f'[[fault]]\nid = "x"\ncrash = "g-1"\nwhen = {when}',
        group=f'work = "5ms"\ncommit = "{commit}"',
        run_for="9s",
    )
    closed = run.all(EpochClosed, consumer="g-1")

    assert 5 == sum(event.what.processed for event in closed)
    sent = list(run.commits("g-1"))
    if commit == "sync per record":
        assert [4] == list(sent[-1][1].values())


def test_a_commit_that_was_sent_arrives_though_its_sender_died():
    """It is accepted; the answer is not received."""
    run = crashed("commit sent")
    (sent,) = run.all(CommitSent, consumer="g-1")

    assert sent.at_us == run.began_us("x")
    assert sent.what.commit == run.only(CommitAccepted, consumer="g-1").what.commit
    assert 0 == run.run.ledger.reprocessed


def test_a_cut_at_the_moment_of_sending_comes_too_late_for_that_message():
    """It is under way; its answer is what the cut swallows."""
    run = aimed('cut = ["g-1", "brokers"]\nfor = "1s"', "commit sent")

    assert run.only(CommitSent, consumer="g-1", commit="g-1.1#8").at_us == run.began_us("x")
    assert run.all(CommitAccepted, commit="g-1.1#8")
    assert "g-1.1#8" not in {
        event.what.commit for event in run.all(CommitAnswered, error="NONE", consumer="g-1")
    }


def test_commit_answered_is_when_its_sender_knows():
    """A commit that was answered repeats nothing."""
    run = crashed("commit answered")

    assert run.only(CommitAnswered, consumer="g-1").at_us == run.began_us("x")
    assert 0 == run.run.ledger.reprocessed


@pytest.mark.parametrize(("step", "calls"), [("revoking", 0), ("revoked", 1)])
def test_revoking_is_before_the_listener_and_revoked_behind_it(step, calls):
    """Both before the member joins again."""
    run = crashed(step)

    assert calls == len(run.all(ListenerCalled, consumer="g-1", call="revoked"))
    assert "session expired" in {e.what.why for e in run.all(MemberRemoved, consumer="g-1")}


def test_assigned_is_behind_the_listener_and_before_any_position():
    """It knows what it has, and not yet from where."""
    run = crashed("assigned")

    assert 1 == len(run.all(ListenerCalled, consumer="g-1", call="assigned"))
    assert [] == run.all(EpochClosed, consumer="g-1")
    assert [TopicPartition("t", 2), TopicPartition("t", 3)] == list(
        run.only(ListenerCalled, consumer="g-1").what.partitions
    )


def test_a_leave_group_that_was_sent_removes_a_member_that_died_meanwhile():
    """Within the trip, not after its session."""
    removed = crashed("sent LeaveGroup").first(MemberRemoved)

    assert (8 * SECOND + 500, "left") == (removed.at_us, removed.what.why)


def test_closing_is_before_anything_is_said_of_it():
    """No listener call, no LeaveGroup."""
    run = crashed("closing")

    assert [] == run.all(ListenerCalled, consumer="g-1", call="revoked")
    assert ["session expired"] == [e.what.why for e in run.all(MemberRemoved)]


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(("commit", "mid_batch"), [("auto", "true"), ("async per record", "false")])
@pytest.mark.parametrize("step", [s for s in STEPS if s not in ("closing", "sent LeaveGroup")])
def test_a_process_stopped_at_a_step_closes_once(step, commit, mid_batch):
    """At any step: it finishes its work and leaves; a LeaveGroup waits for the parked JoinGroup before it."""
    group = GROUP.replace('"sync"', f'"{commit}"')
    run = aimed(f'close = "g-1"\nmid_batch = {mid_batch}', step, group=group, run_for="14s")
    stopped = run.only(ConsumerStopped)
    calls = run.all(ListenerCalled, consumer="g-1", call="revoked")

    assert "closed" == stopped.what.how
    assert stopped.at_us - run.began_us("x") < (7 if step == "JoinGroup parked" else 1) * SECOND
    assert len(calls) <= (2 if step in ("revoking", "revoked") else 1)
    assert {"left"} >= {event.what.why for event in run.all(MemberRemoved)}
