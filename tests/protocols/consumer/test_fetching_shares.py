"""Taking records partition by partition, and partitions that are about to be given up."""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import Fetcher
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch

ZERO, ONE, TWO = (TopicPartition("t", number) for number in range(3))


def reading(*counts: int) -> Fetcher:
    """A fetcher that has so many records of each partition buffered, read from 0."""
    fetcher = Fetcher()
    parts = [TopicPartition("t", number) for number in range(len(counts))]
    fetcher.positions.update_leaders({tp: LeaderAndEpoch(1, 0) for tp in parts})
    fetcher.assign(parts)
    for tp in parts:
        fetcher.positions.seek(tp, 0)
    fetcher.requests()
    fetched = tuple(FetchedRecords(tp, 0, n) for tp, n in zip(parts, counts, strict=True))
    fetcher.arrived(FetchResponse(1, fetched))
    return fetcher


def test_shares_are_what_collect_hands_out():
    """One share a partition, in order of arrival, up to the limit."""
    fetcher = reading(3, 4, 5)

    assert (3, 4, 1) == fetcher.shares_ahead(8)
    shares = [fetcher.share(8), fetcher.share(5), fetcher.share(1)]
    assert [Handed(ZERO, 0, 3), Handed(ONE, 0, 4), Handed(TWO, 0, 1)] == shares


def test_a_share_moves_its_own_position_alone():
    """What was not taken yet is where it was."""
    fetcher = reading(3, 4)
    fetcher.share(8)

    assert {ZERO: 3, ONE: 0} == fetcher.positions.valid()


def test_looking_ahead_moves_nothing():
    """Asking how much there is changes nothing."""
    fetcher = reading(3, 4)
    fetcher.shares_ahead(8)

    assert {ZERO: 0, ONE: 0} == fetcher.positions.valid()
    assert 7 == sum(fetcher.shares_ahead(1_000_000))


def test_without_records_there_is_no_share():
    """An empty buffer gives nothing."""
    assert reading(0).share(5) is None
    assert () == reading(0).shares_ahead(5)


def test_what_is_about_to_be_given_up_is_thrown_away():
    """It is not handed out any more, and holds no fetch to its broker up."""
    fetcher = reading(3, 4)
    fetcher.pending = frozenset({ZERO})

    assert (4,) == fetcher.shares_ahead(8)
    assert (Handed(ONE, 0, 4),) == fetcher.collect(8)
    ((_, request),) = fetcher.requests()
    assert [ONE] == [part.partition for part in request.partitions]


def test_what_is_about_to_be_given_up_keeps_its_position():
    """A commit covers it until it is gone."""
    fetcher = reading(3, 4)
    fetcher.pending = frozenset({ZERO})

    assert [(ZERO, 0, -1), (ONE, 0, -1)] == fetcher.positions.consumed()


def test_the_fetch_in_line_is_no_whole_one():
    """What is being handed out does not count as queued; what is behind it does."""
    fetcher = reading(3, 4)
    assert fetcher.queued
    fetcher.collect(1)
    assert fetcher.queued
    fetcher.collect(3)

    assert not fetcher.queued
    assert 3 == sum(fetcher.shares_ahead(1_000_000))
