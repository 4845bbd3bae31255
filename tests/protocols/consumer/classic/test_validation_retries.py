"""Validations that fail and are asked again, and refusals by leader epoch (KIP-320, KIP-951)."""

from __future__ import annotations

import pytest

from protocols.messages import (
    EpochEndOffset,
    EpochStart,
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    LeaderAndEpoch,
    MetadataRequest,
    OffsetsForLeaderEpochResponse,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, parts
from .elections import ASK, committed, driven, elected, fetches, moved, reading, starting

E = ErrorCode
RETRIED = [
    E.FENCED_LEADER_EPOCH,
    E.UNKNOWN_LEADER_EPOCH,
    E.NOT_LEADER_OR_FOLLOWER,
    E.UNKNOWN_TOPIC_OR_PARTITION,
    E.LEADER_NOT_AVAILABLE,
    E.KAFKA_STORAGE_ERROR,
]


def metadata_asked(driver: ClientDriver) -> int:
    return len(driver.ever(MetadataRequest))


# -- answers that do not help --------------------------------------------------------------------


@pytest.mark.parametrize("error", RETRIED)
def test_a_refused_validation_is_asked_again_after_rho_with_fresh_metadata(error):
    """Leaders change faster than the news of them travels."""
    driver = moved()
    before = metadata_asked(driver)
    driver.ends({0: (-1, -1)}, error)
    assert [] == fetches(driver, 2)

    assert 100 == driver.advance_until(ASK)
    assert metadata_asked(driver) > before
    driver.ends({0: (0, 8)})
    assert [(0, 8, 1)] == fetches(driver, 2)


def test_a_partition_left_out_of_the_answer_is_asked_about_again():
    """The others are settled."""
    driver = reading(0, 1)
    elected(driver, number=1)
    driver.advance_until(ASK)
    driver.answer(ASK, OffsetsForLeaderEpochResponse(end_offsets=()))

    assert 100 == driver.advance_until(ASK)


def test_a_lost_answer_is_waited_for_until_the_request_times_out():
    """One question at a time: the next comes after request.timeout.ms."""
    driver = moved(request_timeout_ms=5_000)
    asked_us = driver.lose(ASK).at_us
    driver.advance_until(ASK)

    assert 5_000_000 == driver.now_us - asked_us


def test_a_broken_connection_is_followed_by_another_question_after_rho():
    """Over the same connection nothing comes any more; metadata may name another leader."""
    driver = moved()
    driver.disconnect(2)
    assert 100 == driver.advance_until(ASK)

    driver.ends({0: (0, 8)})
    driver.advance(200)
    assert [(0, 8, 1)] == fetches(driver, 2)


def test_a_broken_connection_to_another_broker_changes_nothing():
    """The answer is still to come."""
    driver = moved()
    driver.disconnect(1)
    driver.ends({0: (0, 8)})
    driver.advance(200)

    assert [(0, 8, 1)] == fetches(driver, 2)
    assert 1 == len(driver.ever(ASK))


# -- answers that come too late ------------------------------------------------------------------


def test_an_answer_of_a_leader_that_was_replaced_meanwhile_is_dropped():
    """The next leader is asked; only its answer counts."""
    driver = moved()
    late = driver.lose(ASK)
    elected(driver, leader=1, epoch=2)
    found = OffsetsForLeaderEpochResponse(end_offsets=(EpochEndOffset(*parts(0), 0, 6),))
    driver.respond(late, found)
    driver.respond(late, found)
    assert {} == driver.positions()

    driver.ends({0: (0, 7)})
    assert {0: 7} == driver.positions()


@pytest.mark.parametrize("number", [0, 1])
def test_an_answer_about_a_partition_given_away_meanwhile_is_dropped(number):
    """Or about one that came back with another position."""
    driver = moved()
    late = driver.lose(ASK)
    driver.learn()
    driver.join(number, generation=2)
    driver.fetched({number: 50})
    driver.poll()
    driver.sent.append(late)
    driver.ends({0: (0, 6)})
    driver.poll()

    assert {number: 50} == driver.positions()


def test_without_a_leader_no_request_is_sent():
    """Metadata are requested until there is a leader."""
    driver = starting(3, metadata_max_age_ms=300_000)
    driver.advance(1_000)
    before = metadata_asked(driver)
    driver.advance(1_000)
    assert [] == driver.ever(ASK)
    assert metadata_asked(driver) > before

    elected(driver, leader=1, epoch=3)
    assert [1] == [sent.node for sent in driver.ever(ASK)]


def test_a_leader_learned_while_the_coordinator_is_looked_up_is_asked_afterwards():
    """A poll without a coordinator looks at the metadata, and gets no further."""
    driver = reading(heartbeat_interval_ms=10_000)
    driver.coordinator = None
    driver.disconnect()
    elected(driver)
    driver.advance(500)
    assert [] == driver.ever(ASK)

    driver.coordinator = 1
    assert driver.advance_until(ASK) < 1_100


# -- fetches in another epoch --------------------------------------------------------------------


def test_a_fenced_fetch_has_metadata_read_again_and_the_position_validated():
    """A new leader was elected; the fetch was sent with the old leader epoch."""
    driver = reading()
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 1)
    driver.records({0: 0}, error=E.FENCED_LEADER_EPOCH)
    driver.advance_until(ASK)
    driver.ends({0: (0, 8)})
    assert [(0, 8, 0)] == fetches(driver, 1), "it was sent again at once"

    driver.records({0: 0}, error=E.FENCED_LEADER_EPOCH)
    assert [(0, 8, 1)] == fetches(driver, 1)


def test_a_broker_that_does_not_know_its_epoch_yet_is_just_asked_again():
    """The client's metadata are ahead of it; they need no refresh."""
    driver = reading()
    before = metadata_asked(driver)
    driver.records({0: 0}, error=E.UNKNOWN_LEADER_EPOCH)

    assert [(0, 8, 0)] == fetches(driver, 1)
    assert before == metadata_asked(driver)


def refuse(driver: ClientDriver, current: LeaderAndEpoch) -> None:
    """Let the fetch at broker 1 be refused, and the refusal name the leader."""
    (sent,) = (s for s in driver.pending(FetchRequest) if s.node == 1)
    error = E.NOT_LEADER_OR_FOLLOWER
    part = FetchedRecords(parts(0)[0], -1, -1, error, current_leader=current)
    driver.respond(sent, FetchResponse(1, (part,)))


def test_a_refusal_that_names_the_leader_saves_the_metadata_request():
    """The position is validated there at once, behind the pass that opens the connection (KIP-951)."""
    driver = reading()
    before = metadata_asked(driver)
    refuse(driver, LeaderAndEpoch(2, 1))
    driver.advance(1)

    assert [2] == [sent.node for sent in driver.pending(ASK)]
    assert before == metadata_asked(driver)


def test_a_position_without_an_epoch_is_read_from_the_leader_named():
    """And metadata are read again, as after any such refusal."""
    driver = driven()
    driver.stable({0: 5})
    driver.poll(100_000)
    before = metadata_asked(driver)
    refuse(driver, LeaderAndEpoch(2, 1))
    assert [(0, 5, 1)] == fetches(driver, 2)

    driver.advance(200)
    assert metadata_asked(driver) > before


# -- epochs of commits ---------------------------------------------------------------------------


def test_a_commit_of_everything_carries_the_epoch_of_the_last_record_read():
    """-1 before anything is read; the position's own epoch afterwards (records 7.1)."""
    driver = driven()
    driver.stable({0: 5})
    driver.commit_sync()
    driver.committed()
    assert {0: (5, -1)} == committed(driver)

    driver.poll(100_000)
    driver.records({0: 3}, epochs=(EpochStart(2, 0),))
    driver.commit_sync()
    assert {0: (8, 2)} == committed(driver)


@pytest.mark.parametrize("call", ["commit_sync", "commit_async"])
def test_offsets_given_are_committed_with_the_epoch_given(call):
    """Usually none: only the application knows of which record it speaks."""
    driver = reading()
    driver.advance(100_000)
    driver.commit(call, (OffsetToCommit(parts(0)[0], 6), OffsetToCommit(parts(1)[0], 7, 0)))

    assert {0: (6, -1), 1: (7, 0)} == committed(driver)


@pytest.mark.parametrize("call", ["commit_sync", "commit_async"])
def test_an_epoch_given_that_is_newer_than_metadata_has_them_read_again(call):
    """The application heard of a leader the client does not know (``updateLastSeenEpochIfNewer``)."""
    driver = reading(metadata_max_age_ms=300_000)
    driver.advance(100_000)
    before = metadata_asked(driver)
    driver.commit(call, (OffsetToCommit(parts(0)[0], 6, 1),))
    driver.advance(100)

    assert before + 1 == metadata_asked(driver)
