"""Which listener calls a rebalance makes, in which order, with which partitions."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult
from protocols.consumer.classic.state import Membership
from protocols.messages import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, parts

E = ErrorCode
COOPERATIVE = ("cooperative-sticky",)


def member(*assignors: str, **settings) -> ClientDriver:
    """A member that owns t-0 and t-1, and makes no commits of its own."""
    driver = ClientDriver(
        assignors=assignors or ("range",), **{"enable_auto_commit": False, **settings}
    )
    driver.stable()
    driver.calls.clear()
    return driver


def rebalance(driver: ClientDriver, *numbers: int, generation: int = 2) -> None:
    """Learn of a rebalance, and go through it up to the new assignment."""
    driver.learn()
    driver.join(*numbers, generation=generation)


# -- eager ---------------------------------------------------------------------------------------


def test_the_first_join_of_an_eager_member_only_assigns():
    """There is nothing to revoke or to lose yet: one call, with what it was given."""
    driver = ClientDriver()
    driver.join(1, 0)

    assert [("assigned", parts(0, 1))] == driver.calls


def test_an_eager_rebalance_revokes_everything_and_assigns_everything():
    """Revoked with all it had before JoinGroup, assigned with all it has after SyncGroup."""
    driver = member()
    rebalance(driver, 0)

    assert [("revoked", parts(0, 1)), ("assigned", parts(0))] == driver.calls


def test_an_eager_member_is_called_even_with_nothing():
    """Both calls come with empty partitions too."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({})
    driver.calls.clear()
    rebalance(driver)

    assert [("revoked", ()), ("assigned", ())] == driver.calls


def test_an_eager_member_revokes_before_it_joins():
    """When the listener runs, nothing has been sent; when it has returned, the JoinGroup leaves."""
    driver = member()
    driver.learn()
    driver.hold_calls = True
    driver.poll()

    assert [] == driver.pending(JoinGroupRequest)
    assert parts(0, 1) == driver.state.assignment

    driver.end_call()
    assert driver.pending(JoinGroupRequest)
    assert () == driver.state.assignment


def test_an_eager_member_starts_afresh_even_on_partitions_it_keeps():
    """Kept partitions lose their position and are read from the committed offset again."""
    driver = member()
    driver.hand({0: 7})
    rebalance(driver, 0, 1)

    assert {} == driver.positions()
    driver.fetched({0: 2, 1: 3})
    driver.poll()
    assert {0: 2, 1: 3} == driver.positions()


# -- cooperative ---------------------------------------------------------------------------------


def test_a_cooperative_member_that_keeps_everything_only_hears_of_nothing_new():
    """No revoked call, and an assigned call with no partitions, at each generation."""
    driver = member(*COOPERATIVE)
    rebalance(driver, 0, 1)

    assert [("assigned", ())] == driver.calls
    assert Membership.STABLE is driver.membership
    assert [] == driver.pending(JoinGroupRequest)


def test_a_cooperative_member_hears_only_of_what_is_new():
    """Assigned carries the difference to what it owned."""
    driver = member(*COOPERATIVE, auto_offset_reset="earliest")
    driver.topics = {"t": 4}
    rebalance(driver, 0, 1, 3)

    assert [("assigned", parts(3))] == driver.calls
    assert parts(0, 1, 3) == driver.state.assignment


def test_a_cooperative_member_revokes_in_the_poll_that_applies_the_assignment_and_rejoins():
    """Revoked with the difference, then assigned, then the next JoinGroup, in one poll."""
    driver = member(*COOPERATIVE)
    rebalance(driver, 0)

    assert [("revoked", parts(1)), ("assigned", ())] == driver.calls
    request = driver.one(JoinGroupRequest)
    assert "need to revoke partitions and re-join" == request.reason
    assert parts(0) == request.protocols[0].metadata.owned_partitions
    assert 2 == request.protocols[0].metadata.generation_id


def test_partitions_are_still_assigned_while_they_are_revoked():
    """In the call positions can be read and commits carry the new generation."""
    driver = member(*COOPERATIVE)
    driver.hand({1: 6})
    driver.hold_calls = True
    rebalance(driver, 0)

    assert ("revoked", parts(1)) == driver.calls[-1]
    assert parts(0, 1) == driver.state.assignment
    assert {0: 0, 1: 6} == driver.positions()

    driver.commit_sync({1: 6})
    request = driver.one(OffsetCommitRequest)
    assert 2 == request.generation_id
    driver.committed()
    assert CommitResult(request.offsets) == driver.returned[-1]
    driver.end_call()
    assert parts(0) == driver.state.assignment


def test_kept_partitions_keep_position_and_buffer():
    """A cooperative member goes on reading what it keeps where it was."""
    driver = member(*COOPERATIVE, max_poll_records=5)
    driver.hand({0: 8})
    rebalance(driver, 0)
    handed = [(part.first, part.next_offset) for batch in driver.batches() for part in batch]

    assert [(0, 5), (5, 8)] == handed
    assert {0: 8} == driver.positions()


def test_an_eager_assignor_in_the_list_makes_the_client_eager():
    """Kafka's default list runs eager, whatever the coordinator selects."""
    driver = member("range", "cooperative-sticky")
    rebalance(driver, 0, 1)

    assert [("revoked", parts(0, 1)), ("assigned", parts(0, 1))] == driver.calls


# -- lost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignors", [("range",), COOPERATIVE])
@pytest.mark.parametrize(
    ("error", "member_id"), [(E.UNKNOWN_MEMBER_ID, ""), (E.ILLEGAL_GENERATION, "m-1")]
)
def test_a_member_that_dropped_out_loses_everything_at_its_next_poll(assignors, error, member_id):
    """Under either protocol: lost with all, then JoinGroup; the id is kept after one of them."""
    driver = member(*assignors)
    driver.learn(error)

    assert [] == driver.calls

    driver.poll()
    assert [("lost", parts(0, 1))] == driver.calls
    request = driver.one(JoinGroupRequest)
    assert (member_id, ()) == (request.member_id, request.protocols[0].metadata.owned_partitions)
    assert f"encountered {error.name} from HEARTBEAT response" == request.reason


@pytest.mark.parametrize("assignors", [("range",), COOPERATIVE])
def test_nothing_is_lost_that_is_not_owned(assignors):
    """A member without partitions that drops out hears nothing."""
    driver = ClientDriver(assignors=assignors, enable_auto_commit=False)
    driver.stable({})
    driver.calls.clear()
    driver.learn(E.UNKNOWN_MEMBER_ID)
    driver.poll()

    assert [] == driver.calls
    assert driver.pending(JoinGroupRequest)


def test_a_cooperative_member_whose_join_is_refused_loses_what_it_kept():
    """UNKNOWN_MEMBER_ID to a JoinGroup: lost for all, then a join without an id."""
    driver = member(*COOPERATIVE)
    driver.learn()
    driver.poll()
    driver.join_error(E.UNKNOWN_MEMBER_ID)
    driver.poll()

    assert [("lost", parts(0, 1))] == driver.calls
    assert "" == driver.one(JoinGroupRequest).member_id


@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_a_cooperative_member_whose_sync_is_refused_loses_what_it_kept(error):
    """A SyncGroup that resets the generation has onPartitionsLost follow."""
    driver = member(*COOPERATIVE)
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(error=error)
    driver.poll()

    assert [("lost", parts(0, 1))] == driver.calls


def test_a_generation_reset_while_the_listener_revokes_loses_the_rest_later():
    """When the poll interval passes inside the call, what is still owned is lost right after."""
    driver = member(*COOPERATIVE, max_poll_interval_ms=5_000, heartbeat_interval_ms=1_000)
    driver.hold_calls = True
    rebalance(driver, 0)
    assert ("revoked", parts(1)) == driver.calls[-1]
    driver.advance(10_000)
    driver.hold_calls = False
    driver.end_call()

    assert [("revoked", parts(1)), ("assigned", ()), ("lost", parts(0))] == driver.calls
    assert "" == driver.one(JoinGroupRequest).member_id


# -- what may interrupt --------------------------------------------------------------------------


def test_a_long_listener_call_does_not_stop_heartbeats():
    """The heartbeat thread goes on while a cooperative onPartitionsRevoked runs."""
    driver = member(*COOPERATIVE, heartbeat_interval_ms=1_000)
    driver.hold_calls = True
    rebalance(driver, 0)
    before = len(driver.ever(HeartbeatRequest))
    driver.advance(5_000)

    assert 5 == len(driver.ever(HeartbeatRequest)) - before


def test_an_assignment_outside_the_subscription_is_discarded():
    """No call is made; the member says why it joins again."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.look_up()
    driver.joined()
    driver.poll()
    driver.synced(0, topic="other")
    driver.poll()

    assert "received assignment does not match the current subscription" == (
        driver.one(JoinGroupRequest).reason
    )
    assert "assigned" not in dict(driver.calls)
    assert () == driver.state.assignment


def test_partitions_are_handed_to_the_listener_sorted():
    """By topic, then number, however the leader listed them."""
    driver = ClientDriver(topics={"t": 12})
    driver.join(11, 2, 10, 1)

    assert [("assigned", parts(1, 2, 10, 11))] == driver.calls


def test_the_listener_of_an_assignment_sees_the_new_generation():
    """Generation and membership are in force before the callback runs."""
    driver = ClientDriver()
    seen = []
    driver.on_call = lambda _: seen.append((driver.state.generation.id, driver.membership))
    driver.join(0, generation=7)

    assert [(7, Membership.STABLE)] == seen
