"""The totals of each partition, over all logs that it has had; and what a caller looks up in a ledger."""

from __future__ import annotations

import pytest

from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.totals import PartitionTotals

from .history import GROUP, P0, History


def totals(history: History) -> PartitionTotals:
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    builder.close()
    (total,) = builder.partitions()
    assert (GROUP, P0) == (total.group, total.partition)
    return total


def once() -> History:
    history = History()
    history.topic(starts=(5,))
    history.start("a")
    history.open("a", offset=5)
    history.work("a", 5, 50)
    return history


def counts(total: PartitionTotals) -> tuple[int, ...]:
    return total.base, total.frontier, total.processed, total.distinct, total.unread


def test_a_partition_that_is_read_has_the_rest_of_its_log_unread():
    """To the end of the log, or none if the end is not known."""
    history = once()
    assert (5, 50, 45, 45, 0) == counts(totals(history))

    history.end([(P0, 60)])
    assert (5, 50, 45, 45, 10) == counts(totals(history))


def test_a_deleted_topic_has_nothing_unread():
    """What was processed of it counts."""
    history = once()
    history.delete_topic()
    history.end([(P0, 60)])

    assert (5, 50, 45, 45, 0) == counts(totals(history))


def test_a_topic_that_was_created_again_is_counted_from_its_new_begin():
    """Records of both topics were processed."""
    history = once()
    history.delete_topic()
    history.close("a", 50, "revoked")
    history.topic(topic_id="T2", starts=(0,))
    history.open("a", generation=2)
    history.work("a", 0, 20, generation=2)
    history.end([(P0, 30)])

    assert (0, 20, 65, 65, 10) == counts(totals(history))


@pytest.mark.parametrize("deleted", [False, True])
def test_truncated_records_count_as_processed_and_the_log_ends_below_them(deleted):
    """Also if the topic is deleted afterwards: its newest log is not the piece that was cut off."""
    history = once()
    history.truncate(40, 50)
    if deleted:
        history.delete_topic()
    history.end([(P0, 40)])

    assert (5, 40, 45, 45, 0) == counts(totals(history))


def test_the_entries_of_a_record_are_those_whose_range_has_it():
    """Its first and its last record included, of one partition of one topic."""
    history = once()
    history.commit("a", 30)
    history.crash("a", 50)
    history.start("b")
    history.next_owner("b", 30, 60, generation=2)
    history.end([(P0, 60)])
    ledger = history.ledger()
    (entry,) = ledger.entries
    assert (30, 49) == (entry.first, entry.last)

    found = {offset: ledger.with_record("orders", 0, offset) for offset in (29, 30, 49, 50)}
    assert {29: (), 30: (entry,), 49: (entry,), 50: ()} == found
    assert () == ledger.with_record("orders", 1, 30)
    assert () == ledger.with_record("others", 0, 30)
