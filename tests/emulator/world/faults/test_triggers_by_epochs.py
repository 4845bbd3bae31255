"""Faults aimed at steps, and messages chosen by number, in a group of the consumer protocol."""

from __future__ import annotations

from functools import cache

import pytest

import emulator
from emulator.events import (
    CommitSent,
    ConsumerStopped,
    EpochClosed,
    FaultMissed,
    ListenerCalled,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    MessageLost,
    Polled,
    Processed,
    TargetComputed,
)
from emulator.world.triggers import STEPS_OF

from ..consumer.test_consumer_protocol import text
from ..stage import SECOND, Seen

LATE = """work = "5ms"

[[group.member]]
name = "late"
start = "by act"
"""
COMES = '[[act]]\nid = "act"\nstart = "late"\nat = "8s"\n'
AIMED = [
    *STEPS_OF["consumer"],
    "polled",
    "batch done",
    "commit sent",
    "commit appended",
    "commit answered",
    "revoking",
    "revoked",
    "assigned",
    "group stable",
]


@cache
def played(more: str) -> Seen:
    """Play four members, the last of which comes by an act, at a low rate: steps count here."""
    written = text(more, group=LATE, run_for="16s")
    slower = written.replace("20/s", "1/s").replace("partitions = 6", "partitions = 12")
    return Seen(emulator.run(emulator.loads(slower), 0))


def aimed(verb, when):
    """Let a fault strike a member of three at a step; a fourth one joins after 8 s."""
    return played(f'[[fault]]\nid = "x"\n{verb}\nwhen = {when}\n{COMES}')


def at(step, member="g-0"):
    """Return the moment of a step, once the group has formed."""
    return f'{{ member = "{member}", step = "{step}", after = "5s" }}'


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("step", AIMED)
def test_a_process_that_dies_at_a_step_does_nothing_after_it(step):
    """Its sent requests arrive; it is removed when its session expires."""
    run = aimed('crash = "g-0"', at(step))
    died = run.only(ConsumerStopped, consumer="g-0")
    own = (ListenerCalled, CommitSent, Processed, Polled)
    later = [event for event in run.all(own, consumer="g-0") if event.row > died.row]

    assert [] == later
    assert [] == run.all(FaultMissed)
    assert ["session expired"] == [e.what.why for e in run.all(MemberRemoved, consumer="g-0")]


def test_a_heartbeat_that_was_sent_arrives_though_its_sender_is_dead():
    """The newcomer is a member, and never hears of it."""
    run = aimed('crash = "late"', '"late sent ConsumerGroupHeartbeat"')

    assert 1 == len(run.all(MemberAdded, consumer="late"))
    assert [] == run.all(ListenerCalled, consumer="late")


def test_the_answer_is_received_before_it_is_processed():
    """The new member has its epoch, and dies at once."""
    run = aimed('crash = "late"', '"late received ConsumerGroupHeartbeat"')

    assert [] == run.all(ListenerCalled, consumer="late")
    assert run.began_us("x") > run.only(MemberAdded, consumer="late").at_us


def test_the_k_th_heartbeat_can_be_chosen():
    """Each further one comes an interval of a second later."""
    one, two = (
        aimed(
            'crash = "g-0"',
            f'{{ member = "g-0", step = "sent ConsumerGroupHeartbeat", after = "5s", nth = {nth} }}',
        ).began_us("x")
        for nth in (1, 2)
    )

    assert SECOND == two - one


def test_a_target_is_computed_before_the_member_hears_of_it():
    """The newcomer's target is in the log; who shall give up has not been asked yet."""
    run = aimed('crash = "late"', '"late target computed"')
    began = run.began_us("x")
    (computed,) = [e for e in run.all(TargetComputed) if e.at_us == began]

    assert "late" in dict(computed.what.changed)


def test_a_member_is_asked_to_revoke_before_it_gives_anything_up():
    """It dies with all it had, and the newcomer waits for the end of its session."""
    run = aimed('crash = "g-0"', '"g-0 asked to revoke"')
    began = run.began_us("x")
    (moved,) = [e for e in run.all(MemberMoved, consumer="g-0") if e.at_us == began]

    assert moved.what.revoking
    assert [] == [e for e in run.all(ListenerCalled, consumer="g-0") if e.at_us >= began]
    assert "crashed" in {e.what.why for e in run.all(EpochClosed, consumer="g-0")}


def test_the_k_th_answer_can_be_lost():
    """One answer to a heartbeat, from a time on; the member asks again."""
    lose = """[[fault]]
id = "x"
lose_message = { kind = "ConsumerGroupHeartbeat", member = "g-0", nth = 6 }
"""
    run = played(lose)
    lost = run.only(MessageLost)

    assert ("ConsumerGroupHeartbeat", "broker-1", "g-0") == (
        lost.what.kind,
        lost.what.sender,
        lost.what.receiver,
    )
    assert [] == run.all(FaultMissed)


@pytest.mark.parametrize("step", ["sent SyncGroup", "join phase ended", "sent Heartbeat"])
def test_a_step_of_the_other_protocol_never_comes_and_it_says_why(step):
    """The message names the steps of this protocol."""
    missed = aimed('crash = "g-0"', at(step)).only(FaultMissed).what

    assert f'group.protocol=consumer has no "{step}"' in missed.why
    assert "sent ConsumerGroupHeartbeat" in missed.why
