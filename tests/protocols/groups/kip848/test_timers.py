"""Sessions, revocations, and what a failover does to them."""

from __future__ import annotations

import pytest

from protocols.facts import Departure, MemberRemoved
from protocols.messages import LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode

from .driver import ConsumerGroupDriver, owned


def revoking(**settings: int) -> ConsumerGroupDriver:
    """Return A, which has to revoke half of its partitions for B."""
    it = ConsumerGroupDriver(**settings)
    it.join("A", rebalance_timeout_ms=60_000)
    it.join("B")
    it.beat("A")
    return it


def rebalance_ms(it: ConsumerGroupDriver) -> int:
    """Return the rest of its rebalance timeout."""
    return (it.timers["rebalance-timeout-g-A"] - it.now_us) // 1000


def test_a_silent_member_is_removed():
    """Its session restarts with each heartbeat."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.advance(30_000)
    it.beat("A")
    it.advance(44_999)
    assert it.group.members

    it.advance(1)

    assert [Departure.EXPIRED] == [fact.why for fact in it.emitted(MemberRemoved)]
    assert (["8x", "7x", "5x", "3", "6"], "Empty") == (it.types, it.state)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat("A", 2).error


def test_commits_and_errors_keep_no_session():
    """Only heartbeats that are accepted do."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.advance(30_000)
    it.commit("A", 2)
    it.beat("A", 9)

    assert 15_000 == it.session_ms("A")


def test_a_member_that_gives_nothing_up_is_removed():
    """After its own rebalance timeout, though its heartbeats go on."""
    it = revoking()
    it.advance(30_000)
    it.beat("A")
    it.beat("B")
    it.advance(30_000)

    assert [Departure.DID_NOT_REVOKE] == [fact.why for fact in it.emitted(MemberRemoved)]
    assert {"t": {0, 1, 2, 3, 4, 5}} == it.beat("B").assignment


def test_a_confirmation_ends_the_time_limit():
    """The member is where it shall be."""
    it = revoking()
    it.acknowledge("A")

    assert not [name for name in it.timers if name.startswith("rebalance")]


def test_a_second_revocation_has_a_time_of_its_own():
    """It begins with the heartbeat that asks for it."""
    it = revoking()
    it.join("C")
    it.advance(20_000)
    it.acknowledge("A")

    assert "UNREVOKED_PARTITIONS" == it.at("A")[2]
    assert 60_000 == rebalance_ms(it)


def test_a_late_timer_of_a_member_that_moved_on_does_nothing():
    """The epoch at which it was set is not the member's any more."""
    it = revoking()
    timer = it.timers["rebalance-timeout-g-A"]
    it.acknowledge("A")
    it.timers["rebalance-timeout-g-A"] = timer

    it.advance(30_000)
    it.beat("A")
    it.beat("B")
    it.advance(30_000)

    assert not [fact for fact in it.emitted(MemberRemoved) if fact.member_id == "A"]


def test_a_failover_starts_every_timer_in_full():
    """Sessions, and the revocations under way; members keep their epochs."""
    it = revoking()
    it.advance(40_000)
    before = it.at("A"), it.at("B")

    it.fail_over()

    assert (45_000, 45_000, 60_000) == (it.session_ms("A"), it.session_ms("B"), rebalance_ms(it))
    assert before == (it.at("A"), it.at("B"))
    assert 3 == it.beat("A", 2, topic_partitions=owned(0, 1, 2)).epoch


@pytest.mark.parametrize("error", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_failed_append_takes_everything_back(error):
    """The member hears an error, and joins again as if it had never come."""
    it = ConsumerGroupDriver()
    it.refuse = error

    refused = it.join("A")

    assert refused.error in {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
    assert (False, 0) == (it.exists, len(it.log))
    assert (2, (2, 2)) == (it.join("A").epoch, it.epochs)


def test_a_change_is_seen_at_once_and_answered_when_it_is_durable():
    """The next request builds on it, before any replica has it."""
    it = ConsumerGroupDriver()
    it.hold = True
    first, second = it.join("A"), it.join("B")
    assert ([], []) == (first.answers, second.answers)
    assert (3, 3) == it.epochs

    it.replicate()

    assert (2, 3) == (first.epoch, second.epoch)


def test_an_append_that_fails_takes_all_later_ones_with_it():
    """Both answers say so."""
    it = ConsumerGroupDriver()
    it.hold = True
    first, second = it.join("A"), it.join("B")

    it.reject(0, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert {ErrorCode.COORDINATOR_NOT_AVAILABLE} == {first.error, second.error}
    assert not it.exists


def test_an_expiry_that_cannot_be_written_is_tried_again():
    """Half a second later; a heartbeat in between saves the member."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    it.advance(45_000)
    assert (1, 500) == (len(it.group.members), it.session_ms("A"))

    it.advance(500)

    assert not it.group.members


def test_a_revocation_that_ran_out_unwritten_is_tried_again():
    """The member is still at the epoch of the request to revoke."""
    it = revoking()
    it.advance(30_000)
    it.beat("A")
    it.beat("B")
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    it.advance(30_000)
    assert (2, 500) == (len(it.group.members), rebalance_ms(it))

    it.advance(500)

    assert ["B"] == [member.member_id for member in it.group]


def test_an_administrator_removes_members_with_one_new_epoch():
    """By member id or by instance id; who is not there is said to be unknown."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B", instance="i")
    it.join("C", instance="j")
    it.join("D")
    wanted = [
        (LeavingMember("A"), ErrorCode.NONE),
        (LeavingMember("", "i"), ErrorCode.NONE),
        (LeavingMember("X", "j"), ErrorCode.FENCED_INSTANCE_ID),
        (LeavingMember("X"), ErrorCode.UNKNOWN_MEMBER_ID),
        (LeavingMember("", "k"), ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    before = it.group.epoch

    request = LeaveGroupRequest(group_id="g", members=tuple(entry for entry, _ in wanted))
    answer = it.send(request).answer

    assert [error for _, error in wanted] == [left.error for left in answer.members]
    assert ["8x", "7x", "5x", "8x", "7x", "5x", "3"] == it.types
    assert before + 1 == it.group.epoch


def test_removing_no_member_raises_nothing():
    """Not a single record."""
    it = ConsumerGroupDriver()
    it.join("A")

    request = LeaveGroupRequest(group_id="g", members=(LeavingMember("X"),))
    assert [] == it.wrote(lambda: it.send(request))


def test_a_negative_time_to_give_up_is_over_at_once():
    """A request may name any but -1, which says nothing."""
    it = ConsumerGroupDriver()
    it.join("A", rebalance_timeout_ms=-2)
    it.join("B")
    it.beat("A")
    assert it.revoking("A")

    it.advance(0)

    assert ["A"] == [fact.member_id for fact in it.emitted(MemberRemoved)]
