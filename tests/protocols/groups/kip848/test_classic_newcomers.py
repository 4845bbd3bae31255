"""Classic members that join a consumer group, and the session and subscription of those in it."""

from __future__ import annotations

import pytest

from protocols.facts import Departure, MemberAdded, MemberRemoved
from protocols.messages import TEMPORARY_LEAVE_EPOCH
from protocols.messages.errors import ErrorCode

from ..migration.driver import AGAIN, Migration, consumers, convert, mixed, some


def away(**settings: int | str) -> Migration:
    """A group with room for one member: static member A, which has left for a while."""
    it = Migration(group_consumer_max_size=1, **settings)
    it.join("A", instance="i")
    it.beat("A", TEMPORARY_LEAVE_EPOCH, instance="i")
    return it


def test_a_returning_static_member_needs_no_room():
    """It replaces the member that is away, with another id, and the group stays one of consumers."""
    it = away(group_consumer_migration_policy="upgrade")

    joined = it.join_classic("x", group_instance_id="i").answer

    assert ErrorCode.NONE is joined.error
    assert joined.member_id not in ("", "A")
    assert {"i": joined.member_id} == dict(it.group.static_members)
    added = it.emitted(MemberAdded)[-1]
    assert (joined.member_id, "A") == (added.member_id, added.replaced)
    assert [joined.member_id] == [member.member_id for member in it.group]


def test_a_new_static_member_needs_room():
    """The member that is away counts."""
    it = away()

    assert ErrorCode.GROUP_MAX_SIZE_REACHED is it.join_classic("x", group_instance_id="new").error
    assert {"i": "A"} == dict(it.group.static_members)


def test_a_new_static_member_joins_in_one_round_trip():
    """It gets its id with the first answer, and the group epoch rises once."""
    it = consumers()
    epoch = it.group.epoch
    it.advance(1_000)

    joined = it.join_classic("x", group_instance_id="new").answer

    assert (ErrorCode.NONE, epoch + 1) == (joined.error, joined.generation_id)
    assert {"new": joined.member_id} == dict(it.group.static_members)
    assert epoch + 1 == it.group.epoch


def test_a_join_that_cannot_be_stored_leaves_no_member():
    """The answer has a retriable error, and the group is as before."""
    it = consumers()
    epoch = it.group.epoch
    assert ErrorCode.MEMBER_ID_REQUIRED is it.join_classic("x").error
    it.refuse = ErrorCode.NOT_LEADER_OR_FOLLOWER

    assert ErrorCode.NOT_COORDINATOR is it.join_classic("x").error
    assert ["C"] == [member.member_id for member in it.group]
    assert epoch == it.group.epoch


def test_a_classic_member_that_changes_its_topics_raises_the_epoch():
    """Its JoinGroup computes the target, as a heartbeat with other topics does."""
    it = mixed()
    epoch = it.group.epoch
    it.advance(1_000)

    joined = it.join_classic("x", 0, 1, topics=("t", "u")).answer

    assert (ErrorCode.NONE, epoch + 1) == (joined.error, joined.generation_id)
    assert (epoch + 1, epoch + 1) == (it.group.epoch, it.group.target_epoch)


def test_a_join_keeps_what_it_does_not_say():
    """A rebalance timeout of -1, and no rack (``ConsumerGroupMember.Builder.maybeUpdate…``)."""
    it = mixed()
    kept = []
    for timeout_ms, rack in ((-1, None), (30_000, "east"), (-1, None)):
        it.join_classic("x", 0, 1, rebalance_timeout_ms=timeout_ms, rack_id=rack)
        member = it.group.members.get(it.ids["x"]).metadata
        kept.append((member.rebalance_timeout_ms, member.rack_id))

    assert [(20_000, None), (30_000, "east"), (30_000, "east")] == kept


@pytest.mark.parametrize("send", ["heartbeat", "sync"])
def test_a_classic_member_rejoins_for_a_new_target_and_not_for_a_new_epoch(send):
    """Within the assignment interval the group epoch rises, and nothing asks it to rejoin."""
    it = mixed(group_consumer_assignment_interval_ms=5_000)
    generation = it.group.epoch

    def sent() -> ErrorCode:
        if send == "heartbeat":
            return it.beat_classic("x", generation)
        error: ErrorCode = it.sync("x", generation).error
        return error

    it.join("D")
    assert it.group.epoch > it.group.target_epoch == generation
    assert ErrorCode.NONE is sent()
    it.advance(5_000)
    it.beat("D")
    assert it.group.epoch == it.group.target_epoch > generation
    assert AGAIN is sent()


def test_a_classic_member_keeps_its_session_with_heartbeats():
    """The session is the one that it named in its JoinGroup."""
    it = mixed()
    for _ in range(4):
        it.advance(4_000)
        it.beat("C")
        assert ErrorCode.NONE is it.beat_classic("x", 2)
        assert 10_000 == it.session_ms(it.ids["x"])
    it.facts.clear()
    it.advance(9_999)
    assert [] == it.emitted(MemberRemoved)
    it.advance(1)

    assert [(it.ids["x"], Departure.EXPIRED)] == [
        (fact.member_id, fact.why) for fact in it.emitted(MemberRemoved)
    ]


def test_a_sync_in_the_middle_of_a_rebalance_is_answered_with_rejoin():
    """The member is behind the target; its JoinGroup comes first."""
    it = convert()

    assert AGAIN is it.sync("x", 1).error
    it.join_classic("x", 0, 1, 2, 3)
    assert some(0, 1) == it.sync("x", 1).answer.assignment


@pytest.mark.parametrize("version", [3, 4])
def test_a_dynamic_member_asks_for_its_id_first_from_version_4_of_join_on(version):
    """KIP-394: older clients get an id and join with one request."""
    error = consumers().join_classic("x", version=version).error

    assert error is (ErrorCode.MEMBER_ID_REQUIRED if version == 4 else ErrorCode.NONE)
