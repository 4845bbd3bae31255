"""A broker's fetch session: in which order partitions are answered (KIP-227)."""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer.fetch_session import FetchSession
from protocols.messages import FetchPartition


def keep(before: int | None, part: FetchPartition) -> int:
    """Count how often a partition was asked for."""
    del part
    return (before or 0) + 1


def wanted(*numbers: int) -> list[FetchPartition]:
    return [FetchPartition(TopicPartition("t", n), 0) for n in numbers]


def order(session: FetchSession[int]) -> list[int]:
    return [tp.partition for tp in session.cached]


def test_a_full_fetch_sets_the_order():
    """The order of the request, whatever it is."""
    session = FetchSession[int]()
    session.renew(wanted(2, 0, 1), keep)

    assert [2, 0, 1] == order(session)


def test_a_later_fetch_does_not_change_it():
    """An incremental fetch keeps the order of the cache."""
    session = FetchSession[int]()
    session.renew(wanted(2, 0, 1), keep)
    session.renew(wanted(0, 1, 2), keep)

    assert [2, 0, 1] == order(session)


def test_a_partition_that_returned_data_goes_to_the_back():
    """So that no partition starves the others."""
    session = FetchSession[int]()
    session.renew(wanted(0, 1, 2), keep)
    session.answered(TopicPartition("t", 0))
    session.answered(TopicPartition("t", 1))

    assert [2, 0, 1] == order(session)


def test_new_partitions_come_last():
    """Behind all that are known."""
    session = FetchSession[int]()
    session.renew(wanted(3, 4), keep)
    session.renew(wanted(0, 3, 4, 1), keep)

    assert [3, 4, 0, 1] == order(session)


def test_what_is_no_longer_wanted_leaves_and_comes_back_as_new():
    """A forgotten partition has lost its place."""
    session = FetchSession[int]()
    session.renew(wanted(0, 1, 2), keep)
    session.renew(wanted(1, 2), keep)
    session.renew(wanted(0, 1, 2), keep)

    assert [1, 2, 0] == order(session)
    assert {1: 3, 2: 3, 0: 1} == {tp.partition: n for tp, n in session.cached.items()}


def test_the_host_gets_back_what_it_kept():
    """What was kept of a partition is handed to the next fetch of it."""
    session = FetchSession[int]()
    for _ in range(3):
        session.renew(wanted(5), keep)

    assert 3 == session.cached[TopicPartition("t", 5)]


def test_a_session_of_one_needs_no_order():
    """Answering its only partition changes nothing."""
    session = FetchSession[int]()
    session.renew(wanted(0), keep)
    session.answered(TopicPartition("t", 0))

    assert [0] == order(session)
