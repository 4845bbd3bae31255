"""Where a consumer reads: what positions wait for, and on whose history they lie (KIP-320)."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.positions import FetchPosition, Phase, Positions
from protocols.messages import NO_LEADER, LeaderAndEpoch

UNKNOWN = LeaderAndEpoch()
FIRST = LeaderAndEpoch(1, 0)


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def led(broker: int, epoch: int = 0) -> LeaderAndEpoch:
    return LeaderAndEpoch(broker, epoch)


def reading(at: dict[int, int], epoch: int = -1, leader: LeaderAndEpoch = FIRST) -> Positions:
    """Partitions read at these offsets, after records of this epoch, their leader known."""
    positions = Positions()
    positions.update_leaders(dict.fromkeys(map(tp, range(10)), leader))
    positions.assign(map(tp, at))
    positions.follow_leaders()
    for number, offset in at.items():
        positions.seek(tp(number), offset, epoch)
        positions.complete_validation(tp(number))
    positions.check()
    return positions


def learn(positions: Positions, *leaders: LeaderAndEpoch) -> None:
    """Update the metadata with these leaders of partitions 0, 1, ..., and poll."""
    positions.update_leaders({tp(number): led for number, led in enumerate(leaders)})
    positions.follow_leaders()
    positions.check()


# -- what they wait for --------------------------------------------------------------------------


def test_a_reset_has_its_reason_and_time():
    """At once, then after the back-off; a seek ends it."""
    positions = reading({0: 0, 1: 0})
    positions.reset(tp(0), "out of range")
    assert ("out of range", (tp(0),), None) == (
        positions.readings[tp(0)].why,
        positions.due(Phase.RESETTING, 0),
        positions.next_due_us(0),
    )

    positions.ask_again(Phase.RESETTING, [tp(0), tp(1)], 50)
    assert ((), (tp(0),), 50) == (
        positions.due(Phase.RESETTING, 49),
        positions.due(Phase.RESETTING, 50),
        positions.next_due_us(49),
    )
    positions.seek(tp(0), 9)
    assert positions.next_due_us(0) is None
    assert positions.all_reading()


def test_valid_positions_are_those_of_readers_only():
    """What waits for something has none."""
    positions = reading({0: 3, 1: 4})
    positions.reset(tp(0))

    assert {tp(1): 4} == positions.valid()
    assert [(tp(1), 4, -1)] == positions.consumed()
    assert positions.reads_at(tp(1), 4)
    assert not positions.reads_at(tp(1), 5)
    assert not positions.reads_at(tp(0), -1)
    assert not positions.reads_at(tp(9), 0)


def test_an_unknown_partition_has_no_leader():
    """No request can be sent."""
    positions = Positions()
    positions.assign([tp(0)])

    assert UNKNOWN == positions.leader(tp(0))
    assert positions.leaderless


# -- who leads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("leader", [led(2, 0), led(1, 1), led(2, 1)])
def test_another_leader_or_epoch_sends_positions_with_an_epoch_to_validation(leader):
    """They are neither read nor committed until the leader has confirmed them."""
    positions = reading({0: 8}, epoch=0)
    learn(positions, leader)

    assert (tp(0),) == positions.due(Phase.VALIDATING, 0)
    assert FetchPosition(8, 0, leader) == positions.fetch_position(tp(0))
    assert ({}, []) == (positions.valid(), positions.consumed())
    positions.complete_validation(tp(0))
    assert [(tp(0), 8, 0)] == positions.consumed()


def test_the_same_leader_in_the_same_epoch_is_no_news():
    """Metadata are read anew every few minutes."""
    positions = reading({0: 8}, epoch=0)
    learn(positions, led(1, 0))

    assert positions.all_reading()


def test_a_position_without_an_epoch_follows_its_leader_unasked():
    """Set by a reset or a seek: nothing could be compared."""
    positions = reading({0: 8})
    learn(positions, led(2, 1))

    assert positions.all_reading()
    assert FetchPosition(8, -1, led(2, 1)) == positions.fetch_position(tp(0))


def test_a_leader_without_an_epoch_is_followed_unasked():
    """Brokers need not send epochs."""
    positions = reading({0: 8}, epoch=0)
    learn(positions, LeaderAndEpoch(2))

    assert positions.all_reading()


def test_metadata_without_news_keep_the_order_of_fetches():
    """Brokers are asked in the order in which they were first, until a leader changes."""
    leaders = {tp(0): led(1), tp(1): led(2), tp(2): led(1)}
    positions = Positions()
    positions.update_leaders(leaders)
    positions.assign(map(tp, (0, 1, 2)))
    positions.move_to_end(positions.readings[tp(0)])

    positions.update_leaders(dict(leaders))
    assert [1, 2] == list(positions.by_leader)

    positions.update_leaders({**leaders, tp(2): led(2, 1)})
    assert [2, 1] == list(positions.by_leader)


def test_positions_follow_metadata_that_say_the_same():
    """Other leaders are news; the same ones in a new response are none."""
    leaders = dict.fromkeys(map(tp, range(10)), FIRST)
    positions = reading({0: 8})

    assert positions.follows(leaders)
    assert not positions.follows({**leaders, tp(0): led(2, 1)})


def test_positions_are_compared_with_metadata_only_when_poll_looks():
    """Until then they are valid, and committed."""
    positions = reading({0: 8}, epoch=0)
    positions.update_leaders({tp(0): led(2, 1)})
    assert positions.behind
    assert {tp(0): 8} == positions.valid()

    positions.follow_leaders()
    assert not positions.behind
    assert {} == positions.valid()


def test_a_leader_that_vanished_moves_nothing():
    """Without a leader nothing is fetched or validated; the next leader is compared."""
    positions = reading({0: 8}, epoch=0)
    learn(positions, led(NO_LEADER, 1))
    assert positions.all_reading()
    assert positions.leaderless

    learn(positions, led(1, 2))
    assert (tp(0),) == positions.in_phase(Phase.VALIDATING)


def test_a_leader_in_doubt_that_turns_out_the_same_moves_nothing():
    """A connection was lost, or a fetch refused; metadata know the leader and epoch of before."""
    positions = reading({0: 8, 1: 8}, epoch=0)
    positions.forget_leaders_at(1)
    positions.forget_leader(tp(0))
    assert positions.leaderless

    learn(positions, led(1, 0), led(1, 0))
    assert not positions.leaderless
    assert positions.all_reading()


@pytest.mark.parametrize("phase", [Phase.INITIALIZING, Phase.RESETTING])
def test_what_has_no_position_has_nothing_to_validate(phase):
    """It will be set by what the new leader knows."""
    positions = reading({}, epoch=0)
    positions.assign([tp(0)])
    if phase is Phase.RESETTING:
        positions.reset(tp(0))
    learn(positions, led(2, 1))

    assert (tp(0),) == positions.in_phase(phase)


# -- older and newer news ------------------------------------------------------------------------


def test_metadata_of_an_older_epoch_are_ignored():
    """A broker with stale metadata answered: the newer leader is kept."""
    positions = reading({0: 8}, epoch=0, leader=led(2, 3))
    learn(positions, led(1, 2))

    assert led(2, 3) == positions.leader(tp(0))
    assert positions.all_reading()


def test_a_recreated_topic_begins_with_old_epochs():
    """Its epochs have nothing to do with those before."""
    positions = reading({0: 8}, leader=led(2, 3))
    positions.update_leaders({tp(0): led(1, 0)}, recreated={"t"})

    assert led(1, 0) == positions.leader(tp(0))


def test_a_newer_epoch_heard_of_makes_the_leader_unknown():
    """The metadata are older than that election: they do not restore the leader."""
    positions = reading({0: 8}, leader=led(1, 2))
    assert not positions.update_epoch(tp(0), 2)
    assert positions.update_epoch(tp(0), 3)
    assert led(NO_LEADER, 3) == positions.leader(tp(0))
    learn(positions, led(1, 2))
    assert led(NO_LEADER, 3) == positions.leader(tp(0))

    learn(positions, led(2, 3))
    assert led(2, 3) == positions.leader(tp(0))


def test_an_epoch_of_an_unknown_partition_is_no_news():
    """Nothing is known that it could be compared with."""
    positions = Positions()

    assert not positions.update_epoch(tp(0), 3)


# -- going back ----------------------------------------------------------------------------------


def test_a_position_moved_back_is_valid_at_the_same_leader():
    """It was the leader who said where to."""
    positions = reading({0: 8}, epoch=2)
    learn(positions, led(2, 5))
    positions.move_back(tp(0), 6, 1)

    assert [(tp(0), 6, 1)] == positions.consumed()
    assert FetchPosition(6, 1, led(2, 5)) == positions.fetch_position(tp(0))


def test_a_reset_forgets_the_epoch():
    """What is read next need not follow on."""
    positions = reading({0: 8}, epoch=2)
    positions.reset(tp(0))
    positions.seek(tp(0), 3)

    assert [(tp(0), 3, -1)] == positions.consumed()


def test_a_partition_kept_by_an_assignment_keeps_its_epoch():
    """The others begin anew."""
    positions = reading({0: 8, 1: 9}, epoch=2)
    positions.assign([tp(1), tp(2)])

    assert [(tp(1), 9, 2)] == positions.consumed()
    assert (tp(2),) == positions.in_phase(Phase.INITIALIZING)
