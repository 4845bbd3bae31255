"""Positions from committed offsets, and what happens to them later."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, CommitResult, Failed
from protocols.consumer.lookup import Unknown
from protocols.messages import (
    FetchedOffset,
    FetchRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListOffsetsRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, assigned, offsets, parts

E = ErrorCode
EPOCH_MS = 1_700_000_000_000


# -- committed offsets ---------------------------------------------------------------------------


def test_committed_offsets_become_positions():
    """One OffsetFetch for all new partitions, asking for stable offsets only."""
    driver = assigned()
    request = driver.one(OffsetFetchRequest)

    assert (parts(0, 1), True) == (request.partitions, request.require_stable)
    driver.fetched({0: 5, 1: 9})
    assert {0: 5, 1: 9} == driver.positions()
    assert [(0, 5, "committed", ""), (1, 9, "committed", "")] == driver.sources()


def test_poll_waits_for_committed_offsets_up_to_its_time_out():
    """Nothing is fetched, even of partitions that could be, while any is uninitialised."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.topics = {"t": 3}
    driver.stable()
    driver.hand({0: 5})
    driver.learn()
    driver.join(0, 1, 2, generation=2)
    driver.poll(400)
    returned = len(driver.returned)
    driver.advance(399)
    assert returned == len(driver.returned)

    driver.advance(1)
    assert () == driver.returned[-1]


def test_the_same_question_is_asked_once():
    """Polls while the OffsetFetch is in flight send no other."""
    driver = ClientDriver()
    driver.join(0, 1)
    for _ in range(5):
        driver.poll()

    assert 1 == len(driver.ever(OffsetFetchRequest))


def test_a_new_assignment_fetches_again_and_drops_the_old_answer():
    """An answer from before the rebalance may be out of date: the generation counts."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.join(0, 1)
    driver.poll()
    late = driver.lose(OffsetFetchRequest)
    driver.learn()
    driver.join(0, 1, generation=2)
    driver.poll()
    stale = tuple(FetchedOffset(tp, 1) for tp in parts(0, 1))
    driver.respond(late, OffsetFetchResponse(offsets=stale))
    driver.poll()
    assert {} == driver.positions()

    driver.fetched({0: 50, 1: 60})
    driver.poll()
    assert {0: 50, 1: 60} == driver.positions()


def test_only_partitions_without_a_position_are_asked_for():
    """A cooperative member asks for what it gained."""
    driver = ClientDriver(
        topics={"t": 3}, assignors=("cooperative-sticky",), enable_auto_commit=False
    )
    driver.stable()
    driver.learn()
    driver.join(0, 1, 2, generation=2)
    driver.poll()

    assert parts(2) == driver.one(OffsetFetchRequest).partitions


STAY = [E.COORDINATOR_LOAD_IN_PROGRESS, E.UNSTABLE_OFFSET_COMMIT]
MOVE = [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE]


@pytest.mark.parametrize("error", [*STAY, *MOVE])
def test_a_retriable_error_is_retried_with_growing_pauses(error):
    """Loading, pending transactions, a moved coordinator: poll goes on waiting."""
    driver = assigned()
    pauses = []
    for _ in range(3):
        driver.fetched(error=error)
        pauses.append(round(driver.advance_until(OffsetFetchRequest)))

    assert [] == [value for value in driver.returned if value]
    if error in STAY:
        assert [100, 200, 400] == pauses


def test_the_next_poll_asks_again_at_once_and_pauses_briefly_again():
    """A pause ends with the poll that it began in."""
    driver = assigned()
    for _ in range(2):
        driver.fetched(error=E.COORDINATOR_LOAD_IN_PROGRESS)
        driver.advance_until(OffsetFetchRequest)
    driver.fetched(error=E.COORDINATOR_LOAD_IN_PROGRESS)
    assert [] == driver.pending(OffsetFetchRequest)

    driver.poll(1_000)
    assert 1 == len(driver.pending(OffsetFetchRequest))
    driver.fetched(error=E.COORDINATOR_LOAD_IN_PROGRESS)
    assert 100 == round(driver.advance_until(OffsetFetchRequest))


@pytest.mark.parametrize("error", MOVE)
def test_a_moved_coordinator_is_looked_up(error):
    """The answer makes it unknown."""
    driver = assigned()
    driver.fetched(error=error)

    assert isinstance(driver.state.coordinator, Unknown)


@pytest.mark.parametrize("error", [E.GROUP_AUTHORIZATION_FAILED, E.INVALID_GROUP_ID])
def test_other_errors_are_thrown(error):
    """They cannot be retried."""
    driver = assigned()
    driver.fetched(error=error)

    assert Failed("KafkaException", error) == driver.returned[-1]


def unread(*, policy: str = "none") -> ClientDriver:
    """Return a member whose application works while its OffsetFetch is in flight."""
    driver = ClientDriver(enable_auto_commit=False, auto_offset_reset=policy)
    driver.join(0, 1)
    driver.poll()
    return driver


FATAL = Failed("KafkaException", E.GROUP_AUTHORIZATION_FAILED)
NO_OFFSET = Failed("NoOffsetForPartitionException")


@pytest.mark.parametrize(
    ("answer", "failed"),
    [({"error": FATAL.error}, FATAL), ({"by_number": {0: 5}}, NO_OFFSET)],
)
def test_a_failure_the_heartbeat_thread_reads_waits_for_the_next_poll(answer, failed):
    """Only the application thread throws it, once."""
    driver = unread()
    driver.fetched(**answer)
    driver.tick()
    assert [] == [value for value in driver.returned if isinstance(value, Failed)]

    assert failed == driver.poll()
    assert () == driver.poll()
    assert driver.pending(OffsetFetchRequest)


def test_a_failure_read_inside_commit_sync_does_not_end_it():
    """The commit goes on; the next poll throws."""
    driver = unread()
    driver.commit_sync({0: 5})
    driver.fetched(error=FATAL.error)
    driver.committed()
    assert CommitResult(offsets({0: 5})) == driver.returned[-1]

    assert FATAL == driver.poll()


def test_a_failure_read_inside_close_does_not_end_it():
    """Positions are not needed any more."""
    driver = unread()
    driver.close()
    driver.fetched(error=FATAL.error)
    assert FATAL not in driver.returned

    driver.answer(LeaveGroupRequest, LeaveGroupResponse())
    assert [Closed()] == driver.returned[-1:]


def test_a_failure_of_an_earlier_generation_is_never_thrown():
    """The new assignment sends a new request."""
    driver = unread()
    driver.fetched(error=FATAL.error)
    driver.tick()
    driver.learn()
    driver.join(0, 1, generation=2)
    driver.poll()
    driver.fetched({0: 5, 1: 6})
    driver.poll()

    assert FATAL not in driver.returned
    assert {0: 5, 1: 6} == driver.positions()


def test_a_partition_with_unstable_offsets_holds_up_the_others():
    """One error in the answer fails it as a whole."""
    driver = assigned()
    found = (FetchedOffset(parts(0)[0], 5), FetchedOffset(parts(1)[0], -1, error=STAY[1]))
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))

    assert {} == driver.positions()
    driver.advance_until(OffsetFetchRequest)
    assert parts(0, 1) == driver.one(OffsetFetchRequest).partitions


@pytest.mark.parametrize("error", [E.UNKNOWN_TOPIC_OR_PARTITION, E.NOT_LEADER_OR_FOLLOWER])
def test_any_other_error_of_a_partition_is_thrown_even_if_it_is_retriable(error):
    """Only unstable offsets have the request retried."""
    driver = assigned()
    found = (FetchedOffset(parts(0)[0], 5), FetchedOffset(parts(1)[0], -1, error=error))
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))

    assert "KafkaException" == driver.returned[-1].exception


def test_a_lost_connection_asks_again_at_the_next_coordinator():
    """After the back-off and the lookup."""
    driver = assigned()
    driver.disconnect()
    driver.advance_until(OffsetFetchRequest)
    driver.fetched({0: 1, 1: 2})

    assert {0: 1, 1: 2} == driver.positions()


# -- leaders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [E.NOT_LEADER_OR_FOLLOWER, E.UNKNOWN_TOPIC_OR_PARTITION])
def test_a_fetch_at_the_wrong_leader_is_sent_there_again_until_metadata_name_another(error):
    """The position and its leader stay (``AbstractFetch.maybeNodeForPosition``)."""
    driver = ClientDriver(brokers=(1, 2), enable_auto_commit=False)
    driver.stable({0: 5})
    driver.poll(10_000)
    driver.leaders = {parts(0)[0]: 2}
    for _ in range(3):
        driver.records({0: 0}, error=error)
        assert [(1, 5)] == _fetched_at(driver)

    driver.advance(1_000)
    driver.records({0: 0}, error=error)
    assert [(2, 5)] == _fetched_at(driver)


def _fetched_at(driver: ClientDriver) -> list[tuple[int, int]]:
    """Return broker and offset of each fetch in flight."""
    sent = driver.pending(FetchRequest)
    return [(each.node, part.offset) for each in sent for part in each.message.partitions]


def test_a_partition_without_a_known_leader_requests_metadata():
    """The group leader has newer metadata; a committed offset alone is not enough."""
    driver = ClientDriver(topics={"t": 1}, enable_auto_commit=False)
    driver.look_up()
    driver.topics = {"t": 2}
    driver.joined()
    driver.poll()
    driver.synced(0, 1)
    driver.poll()
    driver.fetched({0: 1, 1: 2})
    driver.poll(10_000)
    driver.advance(1_000)
    asked = {part.partition for s in driver.ever(FetchRequest) for part in s.message.partitions}

    driver.records({0: 0})
    driver.advance(100)
    asked |= {part.partition for s in driver.ever(FetchRequest) for part in s.message.partitions}
    assert set(parts(0, 1)) == asked


def test_a_reset_waits_for_a_leader():
    """Metadata are requested until there is one."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.leaders = dict.fromkeys(parts(0, 1), -1)
    driver.join(0)
    driver.poll(10_000)
    driver.fetched()
    driver.advance(500)
    assert [] == driver.pending(ListOffsetsRequest)

    driver.leaders = {}
    driver.advance(2_000)
    assert driver.pending(ListOffsetsRequest)
