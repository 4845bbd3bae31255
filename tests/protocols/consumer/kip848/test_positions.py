"""Where new partitions are read from: committed offsets with the member's epoch, then resets."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import exception_name
from protocols.consumer.clients import profile_of
from protocols.consumer.kip848.background_client import BackgroundClient
from protocols.facts import EpochOpened
from protocols.machine import Step
from protocols.messages import (
    FetchedOffset,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import MEMBER, ClientDriver, parts


def assigned(**settings) -> ClientDriver:
    """A member that has just been assigned partitions 0 and 1 and asks where to read them."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    driver.joining()
    driver.reconcile(2, 0, 1)
    driver.beaten()
    driver.poll()
    return driver


def refuse(driver: ClientDriver, error: ErrorCode) -> None:
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(error=error))


def test_committed_offsets_are_asked_for_with_the_members_epoch():
    """The coordinator checks that it is the member it takes itself for."""
    request = assigned().one(OffsetFetchRequest)

    assert (MEMBER, 2) == (request.member_id, request.member_epoch)
    assert [0, 1] == sorted(tp.partition for tp in request.partitions)
    assert 10 == request.version


def test_fetches_leave_with_the_answer():
    """Once the positions are there the poll event goes on to its fetches, without another poll."""
    driver = assigned()
    driver.fetched({0: 5, 1: 6})

    assert {0: 5, 1: 6} == driver.positions()
    assert 1 == len(driver.pending(FetchRequest))


def test_a_stale_epoch_is_followed_by_a_try_with_the_new_one():
    """The member's epoch may have risen since; the next try has the newest."""
    driver = assigned()
    driver.beat_due()
    driver.beaten(4)
    refuse(driver, ErrorCode.STALE_MEMBER_EPOCH)
    driver.advance(100)

    assert 4 == driver.one(OffsetFetchRequest).member_epoch


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_errors_that_pass_are_waited_out(error):
    """The back-off doubles; nothing but the positions waits for it."""
    driver = assigned()
    waits = []
    for _ in range(3):
        refuse(driver, error)
        waits.append(driver.advance_until(OffsetFetchRequest))

    assert [100, 200, 400] == waits


def test_a_lost_connection_is_waited_out():
    """The question is asked again over the next connection."""
    driver = assigned()
    driver.disconnect()
    driver.advance(200)

    assert 1 == len(driver.pending(OffsetFetchRequest))


def test_an_error_that_stays_is_thrown():
    """The next poll throws what no try would mend."""
    driver = assigned()
    refuse(driver, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    thrown = driver.poll()

    assert ErrorCode.GROUP_AUTHORIZATION_FAILED is thrown.error


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH])
def test_a_member_that_was_removed_meanwhile_throws(error):
    """The request cannot be retried, and its poll event fails, although the member joins again."""
    driver = assigned()
    driver.beat_due()
    driver.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    refuse(driver, error)

    assert exception_name(error) == driver.poll().exception
    driver.poll()
    assert [("lost", (0, 1))] == driver.calls[-1:]


def test_without_an_offset_the_policy_decides():
    """The leaders are asked where reading may start; the answers end the event."""
    driver = assigned()
    driver.fetched({0: 5})
    listed = (ListedOffset(driver.one(ListOffsetsRequest).partitions[0][0], 2),)
    driver.answer(ListOffsetsRequest, ListOffsetsResponse(offsets=listed))

    assert {0: 5, 1: 2} == driver.positions()
    (fact,) = [f for f in driver.emitted(EpochOpened) if f.partition.partition == 1]
    assert ("earliest", "no offset") == (fact.source, fact.why)
    assert 1 == len(driver.pending(FetchRequest))


def test_without_an_offset_and_a_policy_poll_throws():
    """NoOffsetForPartitionException."""
    driver = assigned(auto_offset_reset="none")
    driver.fetched({0: 5})

    assert "NoOffsetForPartitionException" == driver.poll().exception


def test_retained_partitions_go_on_being_read_meanwhile():
    """Only what is new waits for its position."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.poll()
    driver.beat_due()
    driver.beaten(3, 0, 1)
    driver.poll()
    driver.poll()
    assert 1 == len(driver.pending(OffsetFetchRequest))
    driver.records({0: 3})

    assert 3 == driver.poll(100)[0].next_offset


# -- errors of partitions --------------------------------------------------------------------------


def refuse_partition(driver: ClientDriver, error: ErrorCode) -> None:
    """Answer the OffsetFetch: partition 0 is at 5, partition 1 has an error."""
    first, second = driver.one(OffsetFetchRequest).partitions
    found = (FetchedOffset(first, 5), FetchedOffset(second, -1, error=error))
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ],
)
def test_an_error_of_one_partition_is_retried_for_all(error):
    """No position is set before all are known."""
    driver = assigned()
    refuse_partition(driver, error)

    assert {} == driver.positions()
    driver.advance_until(OffsetFetchRequest)
    assert [[0, 1]] == fetches(driver)


def test_an_unexpected_error_of_a_partition_is_thrown_even_if_it_is_retriable():
    """Only a response as a whole may have other retriable errors."""
    driver = assigned()
    refuse_partition(driver, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert "KafkaException" == driver.poll().exception


def test_a_topic_that_stays_unknown_counts_as_without_an_offset():
    """After default.api.timeout.ms the other offsets are applied; the policy decides for this."""
    driver = assigned(default_api_timeout_ms=1_000)
    while not driver.pending(ListOffsetsRequest):
        refuse_partition(driver, ErrorCode.UNKNOWN_TOPIC_ID)
        if not driver.pending(ListOffsetsRequest):
            driver.advance_until(OffsetFetchRequest)

    assert {0: 5} == driver.positions()
    assert 500_000 <= driver.now_us <= 1_000_000
    assert [1] == [tp.partition for tp, _ in driver.one(ListOffsetsRequest).partitions]


def test_after_its_time_the_request_is_given_up_poll_throws_and_the_next_makes_another():
    """An error ends it, not the time alone: an attempt whose back-off runs follows. Then back-offs restart."""
    driver = assigned(default_api_timeout_ms=1_000)
    begins_us = driver.now_us
    while driver.now_us < begins_us + 1_000_000:
        refuse(driver, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        driver.advance_until(OffsetFetchRequest)
    refuse(driver, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(2_000)
    assert [] == fetches(driver)
    assert "TimeoutException" == driver.poll().exception
    driver.poll()
    refuse(driver, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert 100 == driver.advance_until(OffsetFetchRequest)


def test_an_error_at_the_deadline_itself_ends_the_request():
    """No other attempt has time left."""
    driver = assigned(default_api_timeout_ms=1_000)
    driver.advance(1_000)
    refuse(driver, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert "TimeoutException" == driver.poll().exception


# -- several requests ------------------------------------------------------------------------------


@pytest.fixture
def twice() -> ClientDriver:
    """A member that is assigned partition 1 while it waits for the offset of partition 0."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.poll()
    driver.beat_due()
    driver.beaten(3, 0, 1)
    driver.poll()
    driver.poll()
    driver.poll()
    return driver


def fetches(driver: ClientDriver) -> list[list[int]]:
    """Return the partitions of each unanswered OffsetFetch."""
    sent = (each.message for each in driver.pending(OffsetFetchRequest))
    return [[tp.partition for tp in request.partitions] for request in sent]


def respond(driver: ClientDriver, committed: dict[int, int]) -> None:
    """Answer the oldest OffsetFetch."""
    request = driver.pending(OffsetFetchRequest)[0].message
    found = tuple(FetchedOffset(tp, committed[tp.partition]) for tp in request.partitions)
    driver.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found))


def test_a_changed_set_of_partitions_is_requested_beside_the_first(twice):
    """The earlier request goes on; polls with the same set reuse the later one."""
    twice.poll()

    assert [[0], [0, 1]] == fetches(twice)


def test_the_earlier_response_still_gives_positions(twice):
    """Its offsets are applied to the partitions that wait for one."""
    respond(twice, {0: 5})

    assert {0: 5} == twice.positions()
    assert [[0, 1]] == fetches(twice)
    respond(twice, {0: 7, 1: 6})
    assert {0: 5, 1: 6} == twice.positions()


def test_what_is_about_to_be_revoked_needs_no_position():
    """The next request is for the remaining partitions only."""
    driver = assigned()
    driver.beat_due()
    driver.beaten(3, 0)
    driver.hold_calls = True
    driver.poll()
    driver.poll()

    assert [[0, 1], [0]] == fetches(driver)


def test_positions_of_a_client_in_the_background_are_updated_at_any_time():
    """Its steps end the Java client's poll events, but no poll of librdkafka waits for such an event."""
    consumer = replace(ClientDriver().client.consumer, profile=profile_of("librdkafka"))
    client = BackgroundClient(consumer, 500)
    always = client.state.slot
    client._become(Step(replace(client.state, slot=None)))

    assert always is not None
    assert always == client.state.slot


# -- resets ----------------------------------------------------------------------------------------


def without_offsets() -> ClientDriver:
    """A member that asks the leaders of partitions 0 (broker 1) and 1 (broker 2) where to begin."""
    driver = ClientDriver(enable_auto_commit=False, brokers=(1, 2))
    driver.leaders = dict(zip(parts(0, 1), (1, 2), strict=True))
    driver.joining()
    driver.reconcile(2, 0, 1)
    driver.beaten()
    driver.poll(100)
    return driver


def list_from(driver: ClientDriver, node: int) -> None:
    """Let one broker answer its ListOffsets."""
    (sent,) = (sent for sent in driver.pending(ListOffsetsRequest) if sent.node == node)
    ((tp, _),) = sent.message.partitions
    driver.respond(sent, ListOffsetsResponse(offsets=(ListedOffset(tp, 2),)))


def test_a_leader_that_does_not_answer_holds_up_only_the_event_that_asked_it():
    """The next poll issues another event, which fetches from the others."""
    driver = without_offsets()
    driver.fetched()
    list_from(driver, 1)
    assert [] == driver.pending(FetchRequest)
    driver.advance(100)
    driver.poll()

    assert [1] == [sent.node for sent in driver.pending(FetchRequest)]


def test_an_event_that_shares_a_request_for_offsets_does_not_wait_for_the_resets_after_it():
    """The event that requested the offsets sends them, although the application has dropped it."""
    driver = without_offsets()
    driver.advance(100)
    driver.poll(10_000)
    driver.fetched()
    list_from(driver, 1)
    driver.advance(100)

    assert [1] == [sent.node for sent in driver.pending(FetchRequest)]


def test_resets_follow_the_committed_offsets():
    """A position that is out of range waits for an OffsetFetch of other partitions."""
    driver = assigned()
    driver.fetched({0: 5, 1: 6})
    driver.to_own(0, 1, 2)
    driver.poll(10_000)
    driver.advance_until(OffsetFetchRequest)
    driver.client.consumer.positions.reset(parts(0)[0])
    driver.advance(100)
    assert [] == driver.pending(ListOffsetsRequest)
    driver.fetched({2: 7})

    assert 1 == len(driver.pending(ListOffsetsRequest))


def test_an_offset_fetch_has_the_ids_of_the_metadata():
    """As a commit has; without an id of each topic it has names."""
    driver = ClientDriver()
    driver.joining()
    driver.reconcile(2, 0)
    driver.beaten()
    driver.poll()
    request = driver.one(OffsetFetchRequest)

    assert (10, (("t", "id-t"),)) == (request.version, request.topic_ids)
