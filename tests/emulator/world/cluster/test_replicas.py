"""The replicas of a partition as the controller has them, and as brokers out of touch do."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.world.cluster.replicas import NO_BROKER, Belief, ReplicaSet


@pytest.fixture
def replicas():
    return ReplicaSet(TopicPartition("t", 0), (2, 3, 1))


def test_the_first_replica_leads_and_all_are_in_sync(replicas):
    """In leader epoch 0."""
    assert (2, 0, (2, 3, 1)) == (replicas.leader, replicas.epoch, replicas.isr)
    assert replicas.whole
    assert replicas.led_by(2)
    assert not replicas.led_by(3)


def test_each_leader_has_an_epoch_of_its_own(replicas):
    """Also no leader; a clean election keeps the ISR."""
    replicas.elect(NO_BROKER, 5, clean=True)
    replicas.elect(3, 9, clean=True)

    assert (3, 2, (2, 3, 1)) == (replicas.leader, replicas.epoch, replicas.isr)


def test_an_unclean_leader_is_alone_in_sync(replicas):
    """The others have to catch up with it."""
    replicas.set_isr((2,), leader_knows=True)
    replicas.elect(1, 5, clean=False)

    assert (1, (1,)) == (replicas.leader, replicas.isr)
    assert not replicas.whole


def test_a_broker_out_of_touch_believes_what_it_knew_first(replicas):
    """However often things change behind its back."""
    replicas.freeze_beliefs([2], 5)
    replicas.elect(3, 5, clean=True)
    replicas.freeze_beliefs([1, 2], 9)
    replicas.elect(1, 9, clean=True)

    assert [Belief(3, 1, 9), Belief(2, 0, 5), None] == [replicas.belief(b) for b in (1, 2, 3)]
    assert [3, 2, 1] == [replicas.leader_known_to(broker) for broker in (1, 2, 3)]
    assert [False, True, False] == [replicas.led_by(broker) for broker in (1, 2, 3)]


def test_informed_brokers_have_the_current_state(replicas):
    """The others keep their old state."""
    replicas.freeze_beliefs([1, 2], 5)
    replicas.elect(3, 5, clean=True)
    replicas.inform(2)

    assert [2, 3, 3] == [replicas.leader_known_to(broker) for broker in (1, 2, 3)]
    replicas.inform(1)
    assert [3, 3, 3] == [replicas.leader_known_to(broker) for broker in (1, 2, 3)]


def test_a_leader_out_of_touch_goes_on_with_the_isr_it_knew(replicas):
    """Until it hears of the new one, or another leads."""
    replicas.set_isr((2, 3), leader_knows=False)
    replicas.set_isr((2,), leader_knows=False)

    assert ((2,), (2, 3, 1)) == (replicas.isr, replicas.isr_of_leader)
    replicas.inform(2)
    assert (2,) == replicas.isr_of_leader
