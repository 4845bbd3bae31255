"""Offset stores outside Kafka: their queue of writes, conditional writes, and backups."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.offset_table import OffsetTable
from protocols.consumer.store_history import NOTHING_STORED, StoreHistory, merged, without
from protocols.consumer.write_queue import WriteQueue
from protocols.consumer.zookeeper import NO_VERSION, Ensemble

P0, P1 = (("g", TopicPartition("t", number)) for number in range(2))


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("rate", "waits"), [(10.0, [0, 99_950, 0]), (None, [0, 0, 0])])
def test_a_store_takes_one_write_after_the_other(rate, waits, in_order):
    """As many a second as its rate says, without a rate each at once; then the latency begins."""
    queue, times = WriteQueue(rate, in_order=in_order), (0, 50, 500_000)

    assert [queue.submit(now, 3_000) for now in times] == [
        (wait, now + wait + 3_000) for now, wait in zip(times, waits, strict=True)
    ]
    queue.clear()
    assert queue.submit(500_001, 3_000) == (0, 503_001)


@pytest.mark.parametrize(("in_order", "done"), [(True, 50_000), (False, 2_000)])
def test_writes_keep_their_order_whatever_their_latencies(in_order, done):
    """In ZooKeeper; transactions of a database do not."""
    queue = WriteQueue(1_000, in_order=in_order)
    queue.submit(0, 50_000)

    assert queue.submit(0, 1_000) == (1_000, done)


@pytest.mark.parametrize(
    ("expected", "written"),
    [(None, True), ({P0: 5, P1: NOTHING_STORED}, True), ({P0: 4, P1: NOTHING_STORED}, False)],
)
def test_a_fenced_transaction_writes_all_rows_or_none(expected, written):
    """One row that is not as expected rolls it back; without an expectation it is not fenced."""
    table = OffsetTable(None)
    assert table.commit({P0: 5}, None)

    assert written is table.commit({P0: 7, P1: 8}, expected)
    rows = (7, 8) if written else (5, NOTHING_STORED)
    assert rows == (table.read(P0), table.read(P1))


def test_a_conditional_write_needs_the_version_that_it_has_read():
    """Each write raises it; a write without a condition is never refused."""
    ensemble = Ensemble(100.0)
    assert ensemble.write("/a", 1, NO_VERSION)
    read = ensemble.version("/a")
    assert ensemble.write("/a", 2)

    assert not ensemble.write("/a", 3, read)
    assert 2 == ensemble.read("/a")
    assert ensemble.write("/a", 3, read + 1)
    assert (3, NOTHING_STORED) == (ensemble.read("/a"), ensemble.read("/b"))


def history() -> StoreHistory:
    noted = StoreHistory()
    noted.note(10, {P0: 5}, {P0: (0, 5)})
    noted.note(20, {P0: 8, P1: 3}, {P0: (4, 8), P1: (0, 3)})
    return noted


@pytest.mark.parametrize(
    ("when", "offsets", "results"),
    [
        (9, {}, {P0: ((0, 8),), P1: ((0, 3),)}),
        (10, {P0: 5}, {P0: ((5, 8),), P1: ((0, 3),)}),
        (19, {P0: 5}, {P0: ((5, 8),), P1: ((0, 3),)}),
        (20, {P0: 8, P1: 3}, {}),
    ],
)
def test_a_backup_has_what_was_written_up_to_its_instant(when, offsets, results):
    """What the backup lacks is what was written later and not before, too."""
    noted = history()
    assert results == noted.results_since(when)

    noted.restore(when, results=True)
    assert offsets == noted.offsets_at(100)
    assert {} == noted.results_since(when)


def test_results_may_stay_when_offsets_go_back():
    """They are in another database."""
    noted = history()
    noted.restore(10, results=False)

    assert {P0: 5} == noted.offsets_at(100)
    assert {P0: ((5, 8),), P1: ((0, 3),)} == noted.results_since(10)


def test_ranges_are_joined_where_they_touch():
    """And what others cover is cut out of them."""
    assert [(0, 8), (9, 12)] == merged([(9, 12), (0, 4), (4, 6), (5, 8), (1, 2)])
    assert [(0, 2), (5, 8)] == without([(0, 4), (4, 8)], [(2, 5), (8, 9)])
    assert [] == without([(2, 4)], [(0, 4)])
