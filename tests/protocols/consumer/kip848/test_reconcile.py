"""Reconciliation of an assignment: its steps in order, and what may interrupt it."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.threads import Lag
from protocols.messages import (
    FetchRequest,
    MetadataRequest,
    OffsetCommitRequest,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode

from .driver import Beat, ClientDriver, ids, offsets, parts


@pytest.fixture
def manual() -> ClientDriver:
    """A stable member with partitions 0 and 1 and no automatic commits."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0, 1: 0})
    return driver


@pytest.fixture
def manual_alone() -> ClientDriver:
    """The same member without a listener."""
    driver = ClientDriver(enable_auto_commit=False, listener=False)
    driver.stable({0: 0, 1: 0})
    return driver


@pytest.fixture
def auto() -> ClientDriver:
    """A stable member with partitions 0 and 1 that commits by itself."""
    driver = ClientDriver(auto_commit_interval_ms=60_000)
    driver.stable({0: 3, 1: 4})
    return driver


def test_revoke_commit_assign_acknowledge(auto):
    """Everything goes in order: commit, revoked, assigned with nothing, then what is owned."""
    auto.to_own(0)
    auto.poll()
    assert [] == auto.calls
    request = auto.committed()
    assert offsets({0: 3, 1: 4}) == tuple(sorted(request.offsets))
    auto.poll()
    auto.poll()

    assert [("revoked", (1,)), ("assigned", ())] == auto.calls
    assert ids(0) == auto.one(Beat).topic_partitions
    assert [0] == auto.owned()


def test_what_goes_is_neither_fetched_nor_handed_out_any_more():
    """The rest of a batch of a partition about to be revoked is thrown away, uncommitted."""
    driver = ClientDriver(max_poll_records=1, auto_commit_interval_ms=60_000)
    driver.stable({0: 3, 1: 4})
    driver.poll()
    driver.records({1: 3})
    driver.poll()
    driver.to_own(0)
    handed = driver.poll()

    assert handed == ()
    assert offsets({0: 3, 1: 5}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))
    asked = [part.partition.partition for part in driver.one(FetchRequest).partitions]
    assert [0] == asked


def test_nothing_begins_before_a_poll(auto):
    """With automatic commits a reconciliation waits for the application, however long."""
    auto.to_own(0, 1, 2)
    auto.advance(20_000)

    assert MemberState.RECONCILING is auto.member
    assert [] == auto.calls
    assert [] == auto.ever(OffsetCommitRequest)


def test_an_addition_without_commits_begins_by_itself_and_is_applied_in_poll(manual):
    """Nothing has to be committed: only the assignment itself waits for a poll."""
    manual.to_own(0, 1, 2)
    assert [0, 1] == manual.owned()
    manual.advance(20_000)
    assert [] == manual.calls
    manual.poll()

    assert [("assigned", (2,))] == manual.calls
    assert [0, 1, 2] == manual.owned()


def test_a_revocation_without_commits_waits_for_a_poll_too(manual):
    """What goes is not paused behind the application's back."""
    manual.to_own(0)
    manual.advance(20_000)
    assert frozenset() == manual.state.pending
    manual.poll()
    manual.poll()
    manual.poll()

    assert [("revoked", (1,)), ("assigned", ())] == manual.calls


def test_heartbeats_go_on_meanwhile_and_acknowledge_nothing(auto):
    """Until all is done the member only says that it lives."""
    auto.to_own(0)
    beat = auto.beat_due()

    assert beat.topic_partitions is None
    assert MemberState.RECONCILING is auto.member


def test_what_is_new_is_read_only_after_its_call():
    """Partitions just assigned have no position while onPartitionsAssigned runs."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.to_own(0, 1)
    driver.hold_calls = True
    driver.poll(1_000)
    driver.advance(300)
    assert [0] == sorted(driver.positions())
    driver.end_call()
    driver.advance(200)
    driver.fetched({1: 9})

    assert {0: 0, 1: 9} == driver.positions()


def test_a_newer_target_waits_its_turn(auto):
    """A target that comes during a reconciliation is taken up when that is acknowledged."""
    auto.to_own(0)
    auto.poll()
    auto.beat_due()
    auto.beaten(3, 0, 2)
    auto.committed()
    auto.poll()
    auto.poll()
    assert [("revoked", (1,)), ("assigned", ())] == auto.calls
    assert ids(0) == auto.one(Beat).topic_partitions
    assert MemberState.RECONCILING is auto.member
    auto.beaten()
    auto.poll()
    auto.committed()
    auto.poll()

    assert ("assigned", (2,)) == auto.calls[-1]
    assert [0, 2] == auto.owned()


def test_a_target_that_goes_back_is_acknowledged_without_a_call(auto):
    """A member assigned again what it owns acknowledges that and calls no listener."""
    auto.to_own(0)
    auto.beat_due()
    auto.beaten(3, 0, 1)

    assert [] == auto.calls
    assert ids(0, 1) == auto.one(Beat).topic_partitions
    assert MemberState.STABLE is auto.member


def test_fencing_ends_a_reconciliation(auto):
    """A member put out while its commit is under way revokes nothing: all is lost."""
    auto.to_own(0)
    auto.poll()
    auto.beat_due()
    auto.refused(ErrorCode.FENCED_MEMBER_EPOCH)
    auto.committed()
    auto.poll()
    auto.poll()

    assert [("lost", (0, 1))] == auto.calls


def test_joining_again_ends_a_reconciliation(auto):
    """What was revoked for the old membership is not taken for the new one."""
    auto.hold_calls = True
    auto.to_own(0, 2)
    auto.poll()
    auto.committed()
    auto.poll()
    assert [("revoked", (1,))] == auto.calls
    auto.beat_due()
    auto.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    auto.end_call()
    auto.poll()

    assert ("lost", (0, 1)) == auto.calls[-1]
    auto.end_call()
    assert [] == auto.owned()
    assert MemberState.JOINING is auto.member


def test_an_assignment_of_a_fenced_member_is_applied_before_all_is_lost(auto):
    """The member is fenced before it polls: it still applies the assignment, without acknowledging it."""
    auto.to_own(0, 1, 2)
    auto.poll()
    auto.committed()
    auto.beat_due()
    auto.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    auto.hold_calls = True
    auto.poll(1_000)

    assert [("assigned", (2,))] == auto.calls
    assert [0, 1, 2] == auto.owned()
    auto.end_call()
    assert ("lost", (0, 1)) == auto.calls[-1]
    auto.end_call()
    assert [] == auto.owned()
    assert (0, ()) == (auto.one(Beat).member_epoch, auto.one(Beat).topic_partitions)


def test_without_a_listener_a_fenced_member_reads_what_it_applies_afterwards(manual_alone):
    """It releases its partitions at once; the assignment that still waits for poll follows."""
    driver = manual_alone
    driver.to_own(0, 1, 2)
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    assert [] == driver.owned()
    assert ("lost", (0, 1)) == driver.unheard[-1]
    driver.poll()
    assert [0, 1, 2] == driver.owned()
    driver.poll()
    driver.fetched({0: 5, 1: 6, 2: 7})

    assert MemberState.JOINING is driver.member
    assert {0: 5, 1: 6, 2: 7} == driver.positions()
    assert frozenset() == driver.client.consumer.fetcher.pending


def test_a_partition_whose_revoked_call_threw_stays_unread_while_it_is_owned(manual):
    """The target takes it back without a call; a later assignment does not read it either."""
    manual.to_own(0)
    manual.hold_calls = True
    manual.poll()
    manual.poll()
    manual.end_call(Failed("Oops"))
    manual.hold_calls = False
    manual.to_own(0, 1, epoch=3)
    assert ids(0, 1) == manual.one(Beat).topic_partitions
    manual.beaten(3)
    manual.to_own(0, 1, 2, epoch=4)
    manual.poll()

    assert [0, 1, 2] == manual.owned()
    assert frozenset(parts(1)) == manual.client.consumer.fetcher.pending


def test_a_revoked_call_that_throws_acknowledges_nothing(manual):
    """The poll throws, the member stays where it is, and a later poll tries again."""
    manual.to_own(0)
    manual.hold_calls = True
    manual.poll()
    manual.poll()
    manual.end_call(Failed("Oops"))
    assert Failed("Oops") == manual.returned[-1]
    assert MemberState.RECONCILING is manual.member
    assert [] == manual.pending(Beat)
    manual.poll()
    manual.poll()

    assert [("revoked", (1,)), ("revoked", (1,))] == manual.calls


def test_an_assigned_call_that_throws_is_made_again(manual):
    """What it was called with is owned but not read until a call, for what is new then, ends well."""
    manual.to_own(0, 1, 2)
    manual.hold_calls = True
    manual.poll()
    manual.end_call(Failed("Oops"))
    assert [0, 1, 2] == manual.owned()
    assert [0, 1] == sorted(manual.positions())
    assert [] == manual.pending(Beat)
    manual.hold_calls = False
    manual.poll()
    manual.poll()

    assert [("assigned", (2,)), ("assigned", ())] == manual.calls
    assert ids(0, 1, 2) == manual.one(Beat).topic_partitions
    manual.fetched({2: 7})
    assert 7 == manual.positions()[2]


def test_what_an_assigned_call_threw_at_is_revoked_like_the_rest(manual):
    """Owned since that call, it is given back with a call, though it was never read."""
    manual.to_own(0, 1, 2)
    manual.hold_calls = True
    manual.poll()
    manual.end_call(Failed("Oops"))
    manual.hold_calls = False
    manual.to_own(0, 1, epoch=3)
    for _ in range(4):
        manual.poll()

    assert ("revoked", (2,)) in manual.calls
    assert [0, 1] == manual.owned()


def test_a_topic_without_a_name_is_asked_for_and_waited_for():
    """Only what metadata can name is reconciled; the rest follows when its name is known."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    both = (*ids(0), TopicPartitions("id-new", (0,)))
    driver.beat_due()
    driver.beaten(3, assigned=both)

    assert ids(0) == driver.one(Beat).topic_partitions
    assert 1 == len(driver.ever(MetadataRequest))
    assert MemberState.RECONCILING is driver.member
    driver.beaten()
    driver.advance(4_000)
    assert [] == driver.pending(Beat)


def test_buffered_records_wait_for_the_reconciliation_check():
    """While a target waits, poll hands nothing out before its event was looked at."""
    driver = ClientDriver(max_poll_records=1, auto_commit_interval_ms=60_000)
    driver.stable({0: 3, 1: 4})
    driver.poll()
    driver.records({0: 3})
    driver.poll()
    driver.to_own(0)
    driver.lags = {Lag.EVENT: 700, Lag.WAKE: 400}
    driver.begin_poll(1_000)
    driver.advance(1.099)
    assert 1 == len(driver.batches())
    assert offsets({0: 4, 1: 4}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))
    driver.advance(0.001)

    assert 2 == len(driver.batches())


def test_without_a_listener_a_revocation_needs_no_poll(manual_alone):
    """Revoked partitions go at once; the assignment is still applied in poll.

    The application thread ends the reconciliation itself and does not wake the background thread,
    which acknowledges with the next event.
    """
    driver = manual_alone
    driver.to_own(0)
    driver.poll()
    assert [0, 1] == driver.owned()
    driver.poll()
    assert [0] == driver.owned()
    assert MemberState.ACKNOWLEDGING is driver.member
    assert [] == driver.pending(Beat)
    driver.poll()

    assert [] == driver.calls
    assert [("revoked", (1,)), ("assigned", ())] == driver.unheard[-2:]
    assert ids(0) == driver.one(Beat).topic_partitions
