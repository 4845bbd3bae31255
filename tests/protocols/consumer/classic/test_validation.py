"""A position is checked against its leader's log before it is read from (KIP-320)."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Failed
from protocols.consumer.classic.positions import update_positions
from protocols.facts import EpochOpened
from protocols.machine import Return, Send
from protocols.messages import (
    EpochStart,
    EpochToCheck,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)

from .driver import ClientDriver, parts
from .elections import (
    ASK,
    METADATA_AGE_MS,
    committed,
    driven,
    elected,
    fetches,
    moved,
    reading,
    starting,
)


def sources(driver: ClientDriver) -> list[tuple[int, str, str]]:
    return [(fact.offset, fact.source, fact.why) for fact in driver.emitted(EpochOpened)]


# -- committed offsets ---------------------------------------------------------------------------


def test_a_committed_offset_with_an_epoch_is_validated_first():
    """Every start from a commit made after reading costs a round trip (``seekUnvalidated``)."""
    driver = starting(0)
    driver.advance_until(ASK)
    (sent,) = driver.pending(ASK)
    assert (1, (EpochToCheck(*parts(0), 0, 0),)) == (sent.node, sent.message.partitions)
    assert [] == fetches(driver, 1)

    driver.ends({0: (0, 9)})
    assert [(0, 5, 0)] == fetches(driver, 1)
    assert [(5, "committed", "")] == sources(driver)


def test_it_is_asked_about_in_the_next_turn_which_follows_at_once():
    """The response to OffsetFetch has woken the network client: poll does not wait in between."""
    driver = starting(0)
    taken_us = driver.now_us
    assert [] == driver.pending(ASK)

    driver.advance(1)
    (sent,) = driver.pending(ASK)
    assert taken_us == sent.at_us


def test_a_leader_without_a_connection_is_asked_behind_those_that_have_one():
    """The first pass of poll only opens it; an open one has been asked in the meantime."""
    driver = driven()
    driver.leaders = {parts(0)[0]: 2, parts(1)[0]: 1}
    driver.client.consumer.fetcher.connect(1)
    driver.join(0, 1)
    driver.poll(100_000)
    driver.fetched({0: 5, 1: 5}, epoch=0)
    driver.advance(1)
    assert [1] == [sent.node for sent in driver.pending(ASK)]

    driver.advance(5)
    driver.ends({1: (0, 9)})
    assert ([2], [(1, 5, 0)]) == ([sent.node for sent in driver.pending(ASK)], fetches(driver, 1))


def test_a_leader_without_a_connection_is_asked_at_once_if_no_other_is():
    """What the set-up of a connection takes is left out, and nothing else is awaited."""
    driver = driven()
    driver.leaders = {parts(0)[0]: 2}
    driver.join(0)
    driver.poll(100_000)
    driver.fetched({0: 5}, epoch=0)
    fetched_us = driver.now_us
    driver.advance(1)

    assert [(2, fetched_us)] == [(sent.node, sent.at_us) for sent in driver.pending(ASK)]


def test_a_committed_offset_without_an_epoch_is_read_at_once():
    """Nothing could be compared: an explicit commit, or one made right after a reset."""
    driver = starting(-1)
    driver.advance(200)

    assert [(0, 5, 0)] == fetches(driver, 1)
    assert [] == driver.ever(ASK)


def test_a_committed_epoch_newer_than_metadata_has_them_read_again_first():
    """Then the leader of that epoch is asked: a delay, no more."""
    driver = driven()
    driver.join(0)
    driver.poll(100_000)
    driver.deaf = {MetadataRequest}
    driver.fetched({0: 5}, epoch=3)
    driver.advance(500)
    assert ([], []) == (driver.pending(ASK), fetches(driver, 1))

    driver.leaders = {parts(0)[0]: 2}
    driver.leader_epochs = {parts(0)[0]: 3}
    (sent,) = driver.pending(MetadataRequest)
    driver.respond(sent, driver.metadata(sent.message))
    driver.advance(100)
    (sent,) = driver.pending(ASK)
    assert (2, (EpochToCheck(*parts(0), 3, 3),)) == (sent.node, sent.message.partitions)


# -- new leaders ---------------------------------------------------------------------------------


def test_a_new_leader_is_asked_before_it_is_read_from():
    """Where the records of the position's epoch end; then it is read in its own epoch."""
    driver = moved()
    (sent,) = driver.pending(ASK)
    assert (2, (EpochToCheck(*parts(0), 0, 1),)) == (sent.node, sent.message.partitions)
    assert [] == fetches(driver, 2)

    before = sources(driver)
    driver.ends({0: (0, 8)})
    assert [(0, 8, 1)] == fetches(driver, 2)
    assert before == sources(driver)


def test_each_leader_is_asked_about_its_own_partitions():
    """Those whose leader stayed are read on."""
    driver = reading(0, 1)
    elected(driver, leader=2, epoch=1, number=0)

    assert [(2, parts(0)[0])] == [
        (sent.node, check.partition)
        for sent in driver.pending(ASK)
        for check in sent.message.partitions
    ]
    driver.records({1: 1})
    assert [((parts(1)[0], 8, 9),)] == driver.batches()[-1:]


def test_the_same_broker_elected_anew_is_asked_too():
    """It may have lost records in between."""
    driver = reading()
    elected(driver, leader=1, epoch=4)

    assert (EpochToCheck(*parts(0), 0, 4),) == driver.one(ASK).partitions


def test_positions_set_by_a_reset_follow_their_leader_unasked():
    """They have no epoch until something is read."""
    driver = driven()
    driver.join(0)
    driver.poll(100_000)
    driver.fetched()
    driver.listed({0: 0})
    driver.records({})
    elected(driver)
    driver.advance(100)

    assert [(0, 0, 1)] == fetches(driver, 2)
    assert [] == driver.ever(ASK)


@pytest.mark.parametrize("auto", [False, True])
def test_commits_leave_out_what_awaits_validation(auto):
    """Their own epoch goes with the others."""
    settings = {"enable_auto_commit": auto, "auto_commit_interval_ms": METADATA_AGE_MS + 500}
    driver = reading(0, 1, **settings)
    elected(driver)
    if auto:
        driver.advance(1_000)
    else:
        driver.records({1: 0})
        driver.advance(100_000)
        driver.commit_sync()

    assert {1: (8, 0)} == committed(driver)


def test_the_poll_that_learns_of_a_new_leader_commits_before_it_looks():
    """Metadata that came while the application worked change nothing for that commit."""
    settings = {"enable_auto_commit": True, "auto_commit_interval_ms": METADATA_AGE_MS - 500}
    driver = reading(**settings)
    driver.records({0: 1}, epochs=(EpochStart(0, 0),))
    elected(driver)
    driver.tick()
    driver.poll()
    assert {0: (9, 0)} == committed(driver)

    driver.committed()
    driver.tick()
    driver.commit_sync()
    driver.poll()
    assert 1 == len(driver.ever(OffsetCommitRequest))


# -- truncation ----------------------------------------------------------------------------------


def test_a_log_that_ends_below_the_position_moves_it_back():
    """To where the logs part; what follows there is read, and committed with its epoch."""
    driver = moved()
    driver.ends({0: (0, 6)})
    assert (6, "truncated", "") == sources(driver)[-1]
    assert [(0, 6, 1)] == fetches(driver, 2)

    driver.records({0: 4}, node=2, epochs=(EpochStart(0, 0), EpochStart(1, 6)))
    driver.commit_sync()
    assert {0: (10, 1)} == committed(driver)


def test_an_epoch_unknown_to_the_leader_is_left_to_the_reset_policy():
    """The history that was read has nothing in common with the leader's."""
    driver = moved()
    driver.ends({0: (-1, -1)})
    assert {} == driver.positions()

    driver.advance_until(ListOffsetsRequest)
    driver.listed({0: 2})
    assert (2, "earliest", "truncated") == sources(driver)[-1]


@pytest.mark.parametrize("end", [(0, 6), (-1, -1)])
def test_without_a_policy_truncation_is_thrown(end):
    """LogTruncationException, once; the position stays, to be asked about again much later."""
    driver = moved(auto_offset_reset="none")
    driver.ends({0: end})
    thrown = driver.returned[-1]
    assert isinstance(thrown, Failed)
    assert "LogTruncationException" == thrown.exception
    assert "t-0 was read up to 8" in thrown.message

    returned = len(driver.returned)
    driver.poll(10_000)
    driver.advance(9_999)
    assert returned == len(driver.returned)
    assert [] == fetches(driver, 2)
    assert 1 == len(driver.ever(ASK))


def test_truncation_found_while_the_application_works_waits_for_the_next_poll():
    """The heartbeat thread reads the answer; only poll throws."""
    driver = moved(auto_offset_reset="none")
    driver.advance(100_000)
    driver.ends({0: (0, 6)})
    driver.tick()
    assert [] == [value for value in driver.returned if isinstance(value, Failed)]

    assert "LogTruncationException" == driver.poll().exception
    assert () == driver.poll()


def test_a_turn_that_throws_a_truncation_requests_no_committed_offsets():
    """``updateFetchPositions`` ends with the exception; the next poll initialises the others."""
    driver = moved(auto_offset_reset="none")
    driver.advance(100_000)
    driver.ends({0: (0, 6)})
    driver.tick()
    state, consumer = driver.state, driver.client.consumer
    consumer.positions.assign(parts(0, 1))

    thrown = update_positions(state, consumer, driver.now_us)
    assert [Return(state.reads.validation_failure)] == list(thrown.effects)
    following = update_positions(thrown.state, consumer, driver.now_us)
    assert [parts(1)] == [
        effect.message.partitions for effect in following.effects if isinstance(effect, Send)
    ]


def test_of_truncations_at_two_leaders_the_first_is_thrown():
    """The other is found again when its position is asked about again."""
    driver = reading(0, 1, 2, topics={"t": 3}, auto_offset_reset="none")
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 1)
    driver.client.consumer.fetcher.connect(2)
    elected(driver)
    driver.records({2: 1})
    first, second = (sent.message.partitions[0].partition for sent in driver.pending(ASK))
    driver.ends({first.partition: (0, 7)})
    driver.ends({second.partition: (0, 6)})
    driver.tick()

    assert str(first) in driver.poll().message
    assert () == driver.poll()
