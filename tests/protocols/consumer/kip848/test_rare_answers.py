"""Direct questions about commits and the membership: answers that a run meets rarely."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult, ExceptionName
from protocols.consumer.clients import profile_of
from protocols.consumer.kip848 import commits, membership, positions
from protocols.consumer.kip848.member import (
    NO_ASSIGNMENT,
    AbortedReconciliation,
    MemberState,
    Reconciling,
    Stage,
)
from protocols.consumer.kip848.reconciliation import is_running
from protocols.consumer.kip848.state import PendingOffsetFetch, Slot
from protocols.consumer.kip848.threads import Commit, CommittingSync, Outside
from protocols.consumer.reader import NEVER, backoff_us
from protocols.facts import CommitKind
from protocols.machine import Return, Send
from protocols.messages import (
    ConsumerGroupHeartbeatResponse,
    FetchedOffset,
    ListOffsetsRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import MEMBER, ClientDriver, ids, offsets, parts

E = ErrorCode
K = CommitKind
COMMITS_BEFORE = Reconciling(Stage.COMMITTING, NO_ASSIGNMENT, (), (), ())


@pytest.fixture(scope="module")
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself; no test changes it."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


@pytest.mark.parametrize(
    ("client", "kind", "error", "epoch", "left_us", "again"),
    [
        ("java", K.SYNC, E.COORDINATOR_LOAD_IN_PROGRESS, 2, 1, True),
        ("java", K.SYNC, E.COORDINATOR_LOAD_IN_PROGRESS, 2, 0, False),
        ("java", K.SYNC, E.NOT_COORDINATOR, 2, 0, False),
        ("java", K.ASYNC, E.COORDINATOR_LOAD_IN_PROGRESS, 2, None, False),
        ("java", K.SYNC, E.GROUP_AUTHORIZATION_FAILED, 2, 1, False),
        ("java", K.SYNC, E.UNKNOWN_TOPIC_OR_PARTITION, 2, 1, True),
        ("java", K.PREPARE, E.UNKNOWN_TOPIC_OR_PARTITION, 2, 1, False),
        ("java", K.PREPARE, E.STALE_MEMBER_EPOCH, 2, 1, True),
        ("java", K.PREPARE, E.STALE_MEMBER_EPOCH, 0, 1, False),
        ("java", K.SYNC, E.STALE_MEMBER_EPOCH, 2, 1, False),
        ("librdkafka", K.CLOSE, E.STALE_MEMBER_EPOCH, 2, 1, True),
        ("librdkafka", K.SYNC, E.STALE_MEMBER_EPOCH, 2, 1, False),
    ],
)
def test_a_commit_is_retried_for_some_errors_until_its_deadline(
    driver, client, kind, error, epoch, left_us, again
):
    """With a stale epoch only one that the client makes itself, in a group that it has joined."""
    now = driver.now_us
    deadline_us = None if left_us is None else now + left_us
    commit = Commit(99, kind, offsets({0: 3}), deadline_us)
    state = replace(driver.state, member=driver.state.member._replace(epoch=epoch))
    consumer = replace(driver.client.consumer, profile=profile_of(client))
    after = commits.on_commit_response(state, consumer, 7, commit, error, now).state

    assert ([(99, 1)] if again else []) == [(each.key, each.attempt) for each in after.commits]


@pytest.mark.parametrize(("left_us", "sent"), [(1, True), (0, False)])
def test_a_commit_that_has_failed_before_ends_at_its_deadline(driver, left_us, sent):
    """In the instant of the deadline already."""
    now = driver.now_us
    commit = Commit(99, K.SYNC, offsets({0: 3}), now + left_us, attempt=1, retry_us=now)
    state = replace(driver.state, commits=(commit,))
    after = commits.send_due_commits(state, driver.client.consumer, now).state

    assert sent is any(flight.commit == commit for flight in after.in_flight.values())
    assert not after.commits


@pytest.mark.parametrize(("waits", "left_us", "ends"), [(1, 1, 0), (1, 0, 1), (0, 0, 0)])
def test_only_a_commit_sync_that_waits_ends_at_its_timeout(driver, waits, left_us, ends):
    """A timer that fires before it, or behind its end, ends nothing."""
    now = driver.now_us
    waiting = CommittingSync(99, offsets({0: 3}), now + left_us, Outside())
    state = replace(driver.state, app=waiting) if waits else driver.state
    step = commits.on_commit_sync_timeout(state, driver.client.consumer, now)

    timeout = Return(CommitResult(offsets({0: 3}), ExceptionName.TIMEOUT))
    assert (timeout,) * ends == step.effects


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MemberState.JOINING, MemberState.STABLE),
        (MemberState.RECONCILING, MemberState.STABLE),
        (MemberState.ACKNOWLEDGING, MemberState.ACKNOWLEDGING),
        (MemberState.STABLE, MemberState.STABLE),
    ],
)
def test_an_assignment_that_the_member_owns_leaves_nothing_to_reconcile(driver, before, after):
    """What it has to acknowledge it still acknowledges (``processAssignmentReceived``)."""
    state = replace(driver.state, member=driver.state.member._replace(state=before))
    response = ConsumerGroupHeartbeatResponse(member_epoch=3, assignment=ids(0, 1))
    member = membership.on_heartbeat_success(state, response).state.member

    assert (after, 3) == (member.state, member.epoch)


@pytest.mark.parametrize(("epoch", "listener"), [(2, "revoked"), (0, "lost")])
def test_a_member_that_is_in_no_group_any_more_has_lost_what_it_unsubscribes_from(
    driver, epoch, listener
):
    state = replace(driver.state, member=driver.state.member._replace(epoch=epoch))
    consumer = replace(driver.client.consumer, listener=True)
    after = membership.leave_after_unsubscribe(state, consumer).state

    assert [listener] == [each.listener for each in after.needed]


@pytest.mark.parametrize(("epoch", "named"), [(2, (MEMBER, 2)), (0, (None, -1))])
def test_an_offset_fetch_names_a_member_that_has_joined(driver, epoch, named):
    """Another one reads the offsets as no member does."""
    fetch = PendingOffsetFetch(parts(0), deadline_us=NEVER)
    member = driver.state.member._replace(epoch=epoch)
    state = replace(driver.state, member=member, pending_offset_fetches=(fetch,))
    step = positions.send_due_fetch(state, driver.client.consumer, driver.now_us)
    (sent,) = [each.message for each in step.effects if isinstance(each, Send)]

    assert named == (sent.member_id, sent.member_epoch)


@pytest.mark.parametrize(
    ("client", "missing", "resets"),
    [("java", False, 1), ("java", True, 0), ("librdkafka", True, 1), ("librdkafka", False, 1)],
)
def test_java_requests_committed_offsets_before_it_resets_other_positions(client, missing, resets):
    """``updateFetchPositions``: resets follow the response. librdkafka treats each partition alone."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    consumer = replace(made.client.consumer, profile=profile_of(client))
    consumer.positions.reset(parts(1)[0])
    if missing:
        consumer.fetcher.assign(parts(1))
        consumer.fetcher.assign(parts(0, 1))
    step = positions.update_positions(made.state, consumer, made.now_us)
    sent = [type(each.message) for each in step.effects if isinstance(each, Send)]

    assert [missing, resets] == [sent.count(OffsetFetchRequest), sent.count(ListOffsetsRequest)]


@pytest.mark.parametrize(("after_retry_us", "again"), [(0, False), (1, True)])
def test_a_topic_that_stays_unknown_ends_a_request_without_time_for_another(
    driver, after_retry_us, again
):
    """Its deadline is no later than the next attempt."""
    now, consumer = driver.now_us, driver.client.consumer
    deadline_us = now + backoff_us(consumer, "offsets", 0, now) + after_retry_us
    fetch = PendingOffsetFetch(parts(0), deadline_us, number=7)
    state = replace(driver.state, pending_offset_fetches=(fetch,))
    found = (FetchedOffset(parts(0)[0], -1, error=E.UNKNOWN_TOPIC_ID),)
    response = OffsetFetchResponse(offsets=found)
    after = positions.on_fetch_response(state, consumer, 7, response, now).state

    assert again is bool(after.pending_offset_fetches)


@pytest.mark.parametrize(
    ("client", "left_us", "thrown"),
    [("java", 0, True), ("java", 1, False), ("librdkafka", 0, False), ("librdkafka", 1, False)],
)
def test_java_throws_at_the_deadline_of_an_offset_fetch(driver, client, left_us, thrown):
    """A client in the background only ends the request."""
    now = driver.now_us
    fetch = PendingOffsetFetch(parts(0), now + left_us, number=7)
    state = replace(driver.state, pending_offset_fetches=(fetch,), slot=Slot(0, 9))
    consumer = replace(driver.client.consumer, profile=profile_of(client))
    step = positions.on_fetch_failed(state, consumer, 7, E.COORDINATOR_LOAD_IN_PROGRESS, now)

    assert thrown is (step.state.slot.failed is not None)
    assert bool(left_us) is bool(step.state.pending_offset_fetches)


@pytest.mark.parametrize(
    ("at", "reconciling", "runs"),
    [
        (MemberState.RECONCILING, COMMITS_BEFORE, True),
        (MemberState.RECONCILING, AbortedReconciliation(Stage.COMMITTING), False),
        (MemberState.RECONCILING, None, False),
        (MemberState.STABLE, COMMITS_BEFORE, False),
    ],
)
def test_a_reconciliation_runs_while_the_member_reconciles(driver, at, reconciling, runs):
    """One that was aborted only waits for its end (``maybeAbortReconciliation``)."""
    member = driver.state.member._replace(state=at, reconciling=reconciling)

    assert runs is is_running(replace(driver.state, member=member))
