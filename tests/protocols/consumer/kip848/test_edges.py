"""The consumer protocol at the edges: the instant of a deadline, a consumer that is no member, one that is fenced."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.consumer.calls import Closed, CommitResult, ExceptionName
from protocols.consumer.clients import profile_of
from protocols.consumer.kip848.background_client import BackgroundClient
from protocols.consumer.kip848.machine import Client
from protocols.consumer.kip848.membership import changes_unread, refresh_subscription
from protocols.consumer.kip848.state import Progress
from protocols.consumer.kip848.threads import OUTSIDE, Lag
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import Beat, ClientDriver, offsets, parts
from .test_background_client import background


def test_a_poll_without_time_to_wait_returns_at_once():
    """It does not set a timer for the same instant."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.begin_poll(0)

    assert [()] == driver.returned


@pytest.mark.parametrize(("later_us", "leaves"), [(0, True), (1, False)])
def test_a_fetch_response_at_the_end_of_the_poll_interval_lets_the_member_leave(later_us, leaves):
    """The background thread looks at its clock when something arrives."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.client.state = replace(driver.state, poll_due_us=driver.now_us + later_us)
    driver.records({0: 3})

    assert leaves is bool(driver.pending(Beat))


def test_no_request_in_flight_has_a_number_that_was_not_given():
    """The check of a debug run notices it."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.commit_async({0: 1})
    ((_, flight),) = driver.state.in_flight.items()
    driver.client.check()
    wrong = {driver.state.reads.next_correlation_id: flight}
    driver.client.state = replace(driver.state, in_flight=wrong)

    with pytest.raises(AssertionError):
        driver.client.check()


def reader(client: str, **settings: Any) -> ClientDriver:
    """Return a consumer of the consumer protocol that has assigned partition 0 to itself."""
    driver = ClientDriver(**settings)
    profile = profile_of(client)
    consumer = replace(driver.client.consumer, assigned=parts(0), profile=profile)
    made = BackgroundClient(consumer, 500) if profile.in_background else Client(consumer)
    driver.client = made  # type: ignore[assignment]  # the same calls
    driver.client.consumer.positions.seek(parts(0)[0], 7)
    return driver


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_a_consumer_with_partitions_of_its_own_commits_at_its_close_and_calls_nobody(client: str):
    """It owns them to the end, and is no member that could have lost them."""
    driver = reader(client)
    driver.poll()
    driver.close()

    assert offsets({0: 7}) == driver.one(OffsetCommitRequest).offsets
    driver.committed()
    assert Closed() == driver.returned[-1]
    assert [] == driver.calls


def test_a_librdkafka_that_was_fenced_loses_its_partitions_at_its_close_and_commits_nothing():
    """It has not polled since, so its listener was not called before."""
    driver = background()
    driver.beat_due()
    commits = len(driver.ever(OffsetCommitRequest))
    driver.refused(ErrorCode.FENCED_MEMBER_EPOCH)
    driver.close()

    assert [("lost", (0, 1))] == driver.calls
    assert commits == len(driver.ever(OffsetCommitRequest))


def test_a_listener_that_returns_at_the_deadline_of_close_does_not_cost_librdkafka_its_commit():
    """The commit gets a request timeout of its own."""
    driver = background()
    driver.hold_calls = True
    driver.close(1_000)
    driver.advance(1_000)
    commits = len(driver.ever(OffsetCommitRequest))
    driver.end_call()

    assert commits + 1 == len(driver.ever(OffsetCommitRequest))
    assert driver.timers["close"] > driver.now_us


def test_unsubscribe_returns_at_its_deadline():
    """Nobody has answered the leaving heartbeat."""
    driver = ClientDriver(enable_auto_commit=False, default_api_timeout_ms=1_000)
    driver.stable({0: 0})
    began_us = driver.now_us
    assert driver.unsubscribe() is None
    driver.advance((began_us - driver.now_us) / 1_000 + 999)
    assert [] == driver.returned

    driver.advance(1)
    assert [OUTSIDE] == driver.returned


def test_the_automatic_commit_of_librdkafka_covers_what_the_application_stores():
    """``rd_kafka_offsets_store``."""
    driver = background(auto_commit_interval_ms=1_000)
    store = OffsetStore(Stores(at_hand_over=False, at_next_poll=False, only_forward=True))
    driver.client.consumer = replace(driver.client.consumer, store=store)
    driver.client.store(offsets({0: 3}))
    driver.advance(1_000)

    assert offsets({0: 3}) == driver.ever(OffsetCommitRequest)[-1].offsets


@pytest.mark.parametrize(
    ("error", "commits"), [(ErrorCode.NONE, 1), (ErrorCode.OFFSET_METADATA_TOO_LARGE, 2)]
)
def test_librdkafka_commits_again_what_was_not_accepted(error: ErrorCode, commits: int):
    """An automatic commit leaves out what is committed already."""
    driver = background(auto_commit_interval_ms=1_000)
    store = OffsetStore(Stores(at_hand_over=False, at_next_poll=False, only_forward=True))
    driver.client.consumer = replace(driver.client.consumer, store=store)
    driver.client.store(offsets({0: 3}))
    driver.advance(1_000)
    driver.committed(error)
    driver.advance(1_000)

    assert commits == len(driver.ever(OffsetCommitRequest))


def test_a_poll_of_librdkafka_throws_for_a_partition_without_a_committed_offset():
    """Its reset policy is ``error``."""
    driver = ClientDriver(enable_auto_commit=False, auto_offset_reset="none")
    consumer = replace(driver.client.consumer, profile=profile_of("librdkafka"))
    driver.client = BackgroundClient(consumer, 500)  # type: ignore[assignment]  # the same calls
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.fetched({})

    assert ExceptionName.NO_OFFSET_FOR_PARTITION == driver.poll(100).exception


def test_a_poll_event_waits_for_the_resets_that_it_has_requested():
    """Until its ListOffsets are answered it is not complete."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.poll(10_000)
    driver.fetched({})
    (asked,) = driver.pending(ListOffsetsRequest)
    slot = driver.state.slot
    assert slot is not None

    assert (Progress.TAKEN, (asked.number,)) == (slot.progress, slot.lists)


@pytest.mark.parametrize("lag_us", [0, 5_000])
def test_a_poll_whose_time_is_over_returns_a_little_after_its_listener(lag_us: int):
    """As long as the application thread needs to come to its next pass."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.joining()
    driver.hold_calls = True
    driver.poll(1_000)
    driver.beaten(1, 0, assigned=())
    driver.advance(500)
    assert driver.running
    driver.advance(500)
    driver.returned.clear()
    driver.lags[Lag.NEXT] = lag_us
    driver.end_call()
    assert [()] * (lag_us == 0) == driver.returned

    driver.advance(lag_us / 1_000)
    assert [()] == driver.returned


@pytest.mark.parametrize(
    ("error", "looks"),
    [
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, True),
        (ErrorCode.REQUEST_TIMED_OUT, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, False),
    ],
)
def test_some_answers_to_a_commit_let_the_client_look_for_its_coordinator(error, looks):
    """One that loads the group is the right one."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.deaf.add(FindCoordinatorRequest)
    driver.commit_sync({0: 1})
    driver.committed(error)
    driver.advance(1_000)

    assert looks is bool(driver.ever(FindCoordinatorRequest))


def test_a_spurious_wake_up_of_a_poll_that_waits_makes_the_listener_call_that_is_needed():
    """The background thread wakes nobody for it."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0, 1: 0})
    driver.to_own(0)
    driver.poll(60_000)
    assert driver.state.needed
    assert [] == driver.calls
    driver.carry_out(driver.client.notice(driver.now_us))

    assert [("revoked", (1,))] == driver.calls


@pytest.mark.parametrize(
    ("error", "looks"),
    [(ErrorCode.NOT_COORDINATOR, True), (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, False)],
)
def test_an_answer_to_a_fetch_of_offsets_may_let_the_client_look_for_its_coordinator(error, looks):
    """One that loads the group is the right one."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.poll(10_000)
    driver.quiet()
    driver.deaf.add(FindCoordinatorRequest)
    driver.fetched(error=error)
    driver.advance(1_000)

    assert looks is bool(driver.ever(FindCoordinatorRequest))


def test_a_fatal_error_is_thrown_with_the_words_of_the_coordinator():
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.beat_due()
    driver.refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    assert "no" == driver.poll(10_000).message


def test_new_metadata_subscribe_nothing_anew_after_unsubscribe():
    """A pattern that the client evaluates has been dropped, too."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    known = driver.state.metadata
    reads = replace(driver.state.reads, metadata=replace(known, version=known.version + 1))
    state = replace(driver.state, reads=reads, subscribed=None)

    assert state is refresh_subscription(state, driver.client.consumer)


def test_which_partitions_are_not_read_may_change_with_each_of_three_values():
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    state = driver.state
    assert not changes_unread(state, replace(state, thrown=None))

    for changed in ({"pending": frozenset(parts(0))}, {"assignment": ()}, {"subscribed": ()}):
        assert changes_unread(state, replace(state, **changed))


@pytest.mark.parametrize("offsets_given", [None, {0: 5}])
def test_commit_async_returns_when_the_background_thread_has_taken_the_commit(offsets_given):
    """Without a response (``AsyncKafkaConsumer.commit``: ``offsetsReady``)."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 3})
    driver.lags[Lag.EVENT] = 700
    given = None if offsets_given is None else offsets(offsets_given)
    driver.call(driver.client.commit_async(driver.now_us, given, waits=True))
    driver.advance(0.699)
    assert [] == driver.returned

    driver.advance(0.001)
    assert [CommitResult(offsets(offsets_given or {0: 3}))] == driver.returned
    assert driver.pending(OffsetCommitRequest)


def test_commit_async_of_nothing_returns_at_once():
    """Nothing is queued."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 3})

    assert CommitResult(()) == driver.call(driver.client.commit_async(0, (), waits=True))


def test_a_refused_fetch_goes_to_the_same_leader_again_until_metadata_name_another():
    """The position keeps its leader (``AbstractFetch.maybeNodeForPosition``)."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 5})
    driver.begin_poll(10_000)
    for _ in range(3):
        driver.records({0: 0}, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)

        assert [5] == [part.offset for part in driver.one(FetchRequest).partitions]
