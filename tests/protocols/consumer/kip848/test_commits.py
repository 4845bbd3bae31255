"""commitSync, commitAsync and automatic commits under the consumer protocol."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import CommitResult, ExceptionName
from protocols.facts import CommitAnswered, CommitSent
from protocols.messages import OffsetCommitRequest, pairs_of
from protocols.messages.errors import ErrorCode

from .driver import MEMBER, Beat, ClientDriver, offsets


@pytest.fixture
def driver() -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    made = ClientDriver(enable_auto_commit=False)
    made.stable({0: 3, 1: 4})
    return made


def auto(**settings) -> ClientDriver:
    """A stable member with partition 0 that commits every five seconds."""
    made = ClientDriver(**settings)
    made.stable({0: 3})
    return made


# -- commitSync --------------------------------------------------------------------------------------


def test_commit_sync_has_the_members_epoch(driver):
    """A commit names the member and the newest epoch known when it is made."""
    driver.commit_sync({0: 9})
    request = driver.one(OffsetCommitRequest)

    assert (2, MEMBER) == (request.generation_id, request.member_id)
    driver.committed()
    assert CommitResult(offsets({0: 9})) == driver.returned[-1]


@pytest.mark.parametrize(("known", "named"), [(True, (10, (("t", "id-t"),))), (False, (9, ()))])
def test_a_commit_has_the_ids_of_the_metadata_or_names(driver, known, named):
    """Names if the metadata, received after the topic's deletion, lack an id."""
    if not known:
        driver.state.metadata.topics.pop("t")
    driver.commit_sync({0: 9})
    request = driver.one(OffsetCommitRequest)

    assert named == (request.version, request.topic_ids)


def test_commit_sync_of_everything_covers_all_positions(driver):
    """Without arguments a commit covers all that poll ever returned."""
    driver.hand({0: 5})
    driver.commit_sync()

    assert offsets({0: 8, 1: 4}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))


def test_commit_async_of_everything_covers_all_positions(driver):
    """The same without waiting."""
    driver.hand({0: 5})
    driver.commit_async()

    assert offsets({0: 8, 1: 4}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))


REFUSED = [
    (ErrorCode.STALE_MEMBER_EPOCH, "CommitFailedException"),
    (ErrorCode.UNKNOWN_MEMBER_ID, "CommitFailedException"),
    (ErrorCode.OFFSET_METADATA_TOO_LARGE, "OffsetMetadataTooLarge"),
    (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, "InvalidCommitOffsetSizeException"),
    (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException"),
    (ErrorCode.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException"),
    (ErrorCode.FENCED_INSTANCE_ID, "KafkaException"),
]


@pytest.mark.parametrize(("error", "exception"), REFUSED)
def test_refusals_end_commit_sync(driver, error, exception):
    """What no new try would mend is thrown at once, a stale epoch too."""
    driver.commit_sync({0: 9})
    driver.committed(error)

    assert CommitResult(offsets({0: 9}), exception, error) == driver.returned[-1]
    assert [] == driver.pending(OffsetCommitRequest)


RETRIED = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
]


@pytest.mark.parametrize("error", RETRIED)
def test_commit_sync_tries_again_with_the_same_offsets(driver, error):
    """After 100, 200, ... ms, until default.api.timeout.ms is over."""
    driver.commit_sync({0: 9})
    waits = []
    for _ in range(3):
        driver.committed(error)
        waits.append(driver.advance_until(OffsetCommitRequest))

    assert [100, 200, 400] == waits
    assert offsets({0: 9}) == driver.one(OffsetCommitRequest).offsets
    driver.advance(60_000)
    assert "TimeoutException" == driver.returned[-1].exception


def test_commit_sync_without_a_coordinator_waits_for_one(driver):
    """The commit leaves as soon as a coordinator is found."""
    driver.lose_coordinator()
    driver.commit_sync({0: 9})
    assert [] == driver.pending(OffsetCommitRequest)
    driver.coordinator = 1
    driver.advance(1_000)
    driver.committed()

    assert CommitResult(offsets({0: 9})) == driver.returned[-1]


def test_a_commit_that_was_never_sent_leaves_after_commit_sync_has_thrown(driver):
    """Its time is over before a coordinator is found; nothing has failed, so nothing drops it."""
    driver.coordinator = None
    driver.disconnect()
    driver.commit_sync({0: 9})
    driver.advance(61_000)
    assert CommitResult(offsets({0: 9}), ExceptionName.TIMEOUT) == driver.returned[-1]
    driver.coordinator = 1
    driver.advance(2_000)

    assert offsets({0: 9}) == driver.one(OffsetCommitRequest).offsets
    driver.committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(2_000)
    assert [] == driver.pending(OffsetCommitRequest)


def test_commit_sync_ends_after_asynchronous_commits_before_it(driver):
    """Its caller hears of earlier commits first."""
    driver.commit_async({0: 8})
    driver.commit_sync({0: 9})
    late = driver.pending(OffsetCommitRequest)[0]
    driver.sent.remove(late)
    driver.committed()
    assert [] == driver.returned
    driver.sent.append(late)
    driver.committed()

    assert CommitResult(offsets({0: 9})) == driver.returned[-1]


def test_an_empty_commit_sends_nothing(driver):
    """There is nothing to ask for."""
    assert CommitResult(()) == driver.commit_sync({})
    assert [] == driver.ever(OffsetCommitRequest)


def test_an_empty_commit_waits_for_asynchronous_commits(driver):
    """It returns once all commits made before it have ended; it sends nothing itself."""
    for offset in (5, 6):
        driver.commit_async({0: offset})

    assert driver.commit_sync({}) is None
    driver.committed()
    assert [] == driver.returned
    driver.committed(ErrorCode.UNKNOWN_MEMBER_ID)
    assert [CommitResult(())] == driver.returned
    assert 2 == len(driver.ever(OffsetCommitRequest))


def test_an_empty_commit_waits_no_longer_than_its_timeout():
    """The asynchronous commit may be stored all the same."""
    driver = ClientDriver(enable_auto_commit=False, default_api_timeout_ms=2_000)
    driver.stable({0: 3})
    driver.commit_async({0: 5})
    driver.commit_sync({})
    driver.advance(1_999)
    assert [] == driver.returned

    driver.advance(1)
    assert [CommitResult((), "TimeoutException")] == driver.returned


def test_a_listener_may_commit(driver):
    """A commitSync inside onPartitionsRevoked ends before the call does."""
    driver.hold_calls = True
    driver.beat_due()
    driver.beaten(3, 0)
    driver.poll(1_000)
    driver.advance(500)
    assert [("revoked", (1,))] == driver.calls
    driver.commit_sync({1: 4})
    driver.committed()
    assert CommitResult(offsets({1: 4})) == driver.returned[-1]
    driver.end_call()
    driver.advance(500)

    assert [("revoked", (1,)), ("assigned", ())] == driver.calls


# -- commitAsync -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [*RETRIED, ErrorCode.STALE_MEMBER_EPOCH])
def test_commit_async_is_never_sent_again(driver, error):
    """Its callback hears of the failure; what to do is up to the application."""
    driver.commit_async({0: 9})
    driver.committed(error)
    driver.advance(4_000)

    assert [error.name] == [fact.error for fact in driver.emitted(CommitAnswered)]
    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_a_lost_connection_ends_asynchronous_commits(driver):
    """They are not sent again over the next connection."""
    driver.commit_async({0: 9})
    driver.disconnect()
    driver.advance(4_000)

    assert [ErrorCode.NETWORK_EXCEPTION.name] == [
        fact.error for fact in driver.emitted(CommitAnswered)
    ]
    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_a_refused_asynchronous_commit_leaves_later_calls_alone(driver):
    """Unlike the classic consumer, which a fenced one makes throw for good, this one goes on."""
    driver.commit_async({0: 9})
    driver.committed(ErrorCode.FENCED_INSTANCE_ID)
    driver.commit_sync({0: 9})
    driver.committed()

    assert CommitResult(offsets({0: 9})) == driver.returned[-1]
    assert () == driver.poll()


# -- automatic commits -------------------------------------------------------------------------------


def test_the_interval_is_looked_at_in_poll_alone():
    """An application that works does not commit, however long."""
    driver = auto()
    driver.advance(30_000)
    assert [] == driver.ever(OffsetCommitRequest)
    driver.poll()

    assert offsets({0: 3}) == driver.one(OffsetCommitRequest).offsets


def test_a_waiting_poll_commits_on_time():
    """A waiting poll wakes up when the interval is over, and has its event do it."""
    driver = auto()
    due = driver.state.autocommit_us
    driver.poll(20_000)
    driver.advance((due - driver.now_us) / 1_000 - 1)
    assert [] == driver.ever(OffsetCommitRequest)
    driver.advance(1)

    assert 1 == len(driver.pending(OffsetCommitRequest))


def test_the_interval_counts_from_the_poll_that_committed():
    """The next commit is due an interval after the event that made this one was issued."""
    driver = auto()
    driver.advance(7_300)
    driver.poll()

    assert driver.now_us + 5_000_000 == driver.state.autocommit_us


def test_positions_are_committed_moved_or_not():
    """Every assigned partition with a position is in every commit."""
    driver = auto()
    for _ in range(2):
        driver.advance(5_000)
        driver.poll()
        driver.committed()

    assert [offsets({0: 3})] * 2 == [r.offsets for r in driver.ever(OffsetCommitRequest)]


def test_an_interval_without_positions_holds_no_later_commit_back():
    """Nothing is sent and nothing is in flight; the next interval commits what there is then."""
    driver = ClientDriver(auto_commit_interval_ms=1_000)
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.advance(1_000)
    driver.poll()
    assert [] == driver.ever(OffsetCommitRequest)
    driver.fetched({0: 5})
    driver.advance(1_000)
    driver.poll()

    assert offsets({0: 5}) == driver.one(OffsetCommitRequest).offsets


def test_one_interval_commit_is_under_way_at_a_time():
    """A due commit is left out until the one before has ended."""
    driver = auto()
    driver.advance(5_000)
    driver.poll()
    driver.advance(6_000)
    driver.poll()
    assert 1 == len(driver.ever(OffsetCommitRequest))
    driver.committed()
    driver.poll()

    assert 2 == len(driver.ever(OffsetCommitRequest))


@pytest.mark.parametrize(("interval_ms", "step_ms"), [(0, 1), (1, 1), (20, 20)])
def test_a_poll_that_waits_commits_at_intervals_shorter_than_the_back_off(interval_ms, step_ms):
    """It waits no longer than the interval (``AutoCommitState.remainingMs``): for 1 ms at least."""
    driver = auto(auto_commit_interval_ms=interval_ms)
    driver.advance(1_000)
    driver.poll(1_000)
    began, times = driver.now_us, []
    while driver.now_us < began + 5 * step_ms * 1_000:
        if driver.pending(OffsetCommitRequest):
            times.append((driver.now_us - began) // 1_000)
            driver.committed()
        driver.advance(0.1)

    assert [n * step_ms for n in range(5)] == times


@pytest.mark.parametrize(
    "error", [*RETRIED, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID]
)
def test_a_failed_interval_commit_is_not_retried(error):
    """Whatever the error, the next commit is made when the interval has passed."""
    driver = auto()
    driver.advance(5_000)
    driver.poll()
    driver.committed(error)
    driver.advance(4_900)
    driver.poll()
    assert 1 == len(driver.ever(OffsetCommitRequest))
    driver.advance(100)
    driver.poll()

    assert 2 == len(driver.ever(OffsetCommitRequest))


def test_a_commit_waits_for_its_turn_with_what_it_covers():
    """Without a coordinator the commit leaves later, with the positions of when it was made."""
    driver = auto()
    driver.coordinator = None
    driver.disconnect()
    driver.advance(5_000)
    driver.poll()
    driver.records({0: 4})
    driver.poll()
    driver.coordinator = 1
    driver.advance(2_000)

    assert offsets({0: 3}) == driver.one(OffsetCommitRequest).offsets


def test_commits_are_emitted_with_kind_and_epoch():
    """The events have each request and its outcome."""
    driver = auto()
    driver.advance(5_000)
    driver.poll()
    driver.committed()

    (sent,), (ended,) = driver.emitted(CommitSent), driver.emitted(CommitAnswered)
    assert ("auto", 2, pairs_of(offsets({0: 3}))) == (sent.kind, sent.generation, sent.offsets)
    assert (sent.correlation_id, ErrorCode.NONE.name) == (ended.correlation_id, ended.error)


def test_a_commit_uses_the_epoch_known_when_it_is_sent():
    """An epoch that rose while the commit waited for a coordinator is the one it has."""
    driver = auto()
    driver.beat_due()
    driver.beaten(5)
    driver.poll()

    assert 5 == driver.one(OffsetCommitRequest).generation_id
    assert [] == driver.pending(Beat)
