"""Static members: who holds an instance, who may take its place, and until when."""

from __future__ import annotations

import pytest

from protocols.messages import TEMPORARY_LEAVE_EPOCH
from protocols.messages.errors import ErrorCode

from .driver import ConsumerGroupDriver, owned, topic


def pair(**settings: int) -> ConsumerGroupDriver:
    """Two static members, each with half of the partitions."""
    it = ConsumerGroupDriver(topic(), topic("u", 2), **settings)
    it.join("A", instance="i1")
    it.join("B", instance="i2")
    it.settle("A", "B")
    return it


def away(it: ConsumerGroupDriver) -> None:
    """Let A leave for a while."""
    assert -2 == it.beat("A", TEMPORARY_LEAVE_EPOCH, instance="i1").epoch


def test_a_member_that_left_for_a_while_keeps_its_place():
    """Its partitions wait for it, its session goes on from its last heartbeat."""
    it = pair()
    it.advance(4_000)
    had = it.assigned("A")

    assert ["8"] == it.wrote(lambda: away(it))
    assert (-2, had) == (it.at("A")[0], it.assigned("A"))
    assert ((3, 3), "Reconciling") == (it.epochs, it.state)
    assert 41_000 == it.session_ms("A")


def test_a_member_that_returns_in_time_keeps_its_assignment():
    """The old id's records are deleted, the new one's written; other members are not affected."""
    it = pair()
    had = it.assigned("A")
    away(it)

    back = it.join("A2", instance="i1")

    assert (3, {"t": had}) == (back.epoch, back.assignment)
    assert ["8x", "7x", "5x", "5", "7", "8", "5", "8"] == it.types
    assert ((3, 3), "Stable") == (it.epochs, it.state)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat("A", 3).error


def test_a_member_that_returns_with_the_same_id_replaces_itself():
    """It is a replacement like any other; an unchanged field makes one record less."""
    it = pair()
    had = it.assigned("A")
    away(it)

    assert {"t": had} == it.join("A", instance="i1").assignment
    assert ["8x", "7x", "5x", "5", "7", "8", "8"] == it.types
    assert "Stable" == it.state


def test_a_member_that_returns_too_late_is_new():
    """After its session the member is removed, and its partitions have another owner."""
    it = pair()
    away(it)
    it.beat("B", instance="i2")
    it.advance(44_000)
    it.beat("B", instance="i2")
    it.advance(1_000)
    assert (4, 3) == it.epochs
    assert {"t": {0, 1, 2, 3, 4, 5}} == it.beat("B", instance="i2").assignment

    assert {} == it.join("A2", instance="i1").assignment
    assert 5 == it.group.epoch


def test_a_member_that_returns_with_other_topics_raises_the_epoch():
    """It keeps its assignment and gets a new target."""
    it = pair()
    away(it)

    back = it.join("A2", "u", instance="i1")

    assert (4, {"u": {0, 1}}) == (back.epoch, back.assignment)
    assert (4, 4) == it.epochs


def test_a_new_instance_raises_the_epoch():
    """It is a member like any other."""
    it = pair()
    it.join("C", instance="i3")

    assert (4, 4) == it.epochs
    assert "C" == it.group.static_members["i3"]


def test_a_member_that_returns_with_another_assignor_raises_the_epoch_if_that_one_wins():
    """The target is computed in the same heartbeat."""
    it = pair()
    away(it)
    it.join("A2", instance="i1", server_assignor="uniform")
    assert (3, 3) == it.epochs
    it.beat("A2", -2, instance="i1")

    it.join("A3", instance="i1", server_assignor="range")

    assert (4, 4) == it.epochs


def test_commits_of_one_that_returned_are_good_from_any_epoch():
    """Its partitions from before have the epoch 0."""
    it = pair()
    mine = sorted(it.assigned("A"))
    away(it)
    it.join("A2", instance="i1")

    assert ErrorCode.NONE == it.commit("A2", 1, *mine)


@pytest.mark.parametrize("member_id", ["A", "A2"])
def test_an_instance_id_in_use_is_refused(member_id):
    """For another member and for itself, as after a lost answer to its own join."""
    assert ErrorCode.UNRELEASED_INSTANCE_ID == pair().join(member_id, instance="i1").error


def test_another_member_under_the_same_instance_is_fenced():
    """So is its leave, for good or for a while."""
    it = pair()

    assert ErrorCode.FENCED_INSTANCE_ID == it.beat("A2", 3, instance="i1").error
    assert ErrorCode.FENCED_INSTANCE_ID == it.beat("A2", -1, instance="i1").error
    assert ErrorCode.FENCED_INSTANCE_ID == it.beat("A2", -2, instance="i1").error


def test_an_unknown_instance_is_an_unknown_member():
    """With any epoch but 0."""
    it = pair()

    for epoch in (3, -1, -2):
        assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat("A", epoch, instance="i9").error


def test_a_static_member_may_leave_for_good():
    """Its partitions are free and the group epoch rises."""
    it = pair()

    assert -1 == it.leave("A", instance="i1").epoch
    assert (4, 3) == it.epochs
    assert {"t": {0, 1, 2, 3, 4, 5}} == it.beat("B", instance="i2").assignment


def test_a_known_instance_needs_no_room():
    """The size limit is for those who are new."""
    it = pair(group_consumer_max_size=2)
    away(it)

    assert ErrorCode.GROUP_MAX_SIZE_REACHED == it.join("C").error
    assert 3 == it.join("A2", instance="i1").epoch


def test_pending_revocations_are_free_when_their_member_leaves_temporarily():
    """The other member can have it; the rest stays blocked."""
    it = ConsumerGroupDriver()
    it.join("A", instance="i1")
    it.join("B")
    it.beat("A", instance="i1")
    moving = it.revoking("A")
    away(it)

    assert {"t": moving} == it.beat("B").assignment
    assert (-2, "UNREVOKED_PARTITIONS") == (it.at("A")[0], it.at("A")[2])
    it.advance(10_000)
    it.beat("B", topic_partitions=owned(*moving))
    assert {0, 1, 2, 3, 4, 5} - moving == it.assigned("A")


def test_a_member_may_come_with_an_instance_id_that_it_did_not_have():
    """It stays who it is, with all that it has; nothing raises the epoch."""
    it = ConsumerGroupDriver()
    it.join("A", rack_id="r")
    it.join("B")
    it.settle("A", "B")
    had, epochs = it.assigned("A"), it.epochs

    again = it.join("A", instance="i1")

    assert ({"t": had}, epochs) == (again.assignment, it.epochs)
    assert ["5"] == it.types
    assert ("i1", "r") == (it.member("A").metadata.instance_id, it.member("A").metadata.rack_id)

    it.join("A", instance="i2")
    assert {"i2": "A"} == dict(it.group.static_members)


def test_a_member_that_leaves_before_its_first_assignment_has_no_epoch_before():
    """Without a record of its assignment its previous epoch is -1."""
    it = ConsumerGroupDriver()
    it.join("A", instance="i1")
    it.fail_over(kept=1)
    assert (0, -1, "STABLE") == it.at("A")

    it.beat("A", -2, instance="i1")
    assert (-2, -1, "STABLE") == it.at("A")
