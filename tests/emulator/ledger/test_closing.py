"""The end of a run: entries that join, whose work was last, what is left unread."""

from __future__ import annotations

import pytest

from emulator.events import Processed
from emulator.ledger.closing import Unread, _close_account
from protocols.values import replace

from .causes_of import owner_at_work
from .history import P0, History
from .test_accounts import END, account
from .test_compaction import compact, reading
from .test_coverage import epoch


def test_records_that_workers_repeat_out_of_order_are_one_entry():
    """Though the later ones were finished first."""
    history = owner_at_work()
    history.crash("a", 100)
    history.open("b", offset=80)
    history.overtake("b", 90, 100)
    history.work("b", 80, 90)
    history.work("b", 100, 110)

    assert [(80, 99)] == [(entry.first, entry.last) for entry in history.ledger().entries]


def test_an_entry_counts_the_records_that_its_second_owner_found():
    """Others had been removed by compaction after their first processing."""
    history = reading(10)
    history.close("a", 10, "revoked")
    compact(history, P0, (3, 5))
    history.next_owner("b", 0, 3)
    history.work("b", 5, 10)
    (entry,) = history.ledger().entries

    assert (0, 9, 8, 2) == (entry.first, entry.last, entry.count, entry.without_record)


def test_the_first_owner_of_lost_records_is_dated_by_its_last_work():
    """Not by its end, before which it finished nothing more."""
    history = owner_at_work()
    worked = [event.at_us for event in history.events if isinstance(event.what, Processed)]
    history.commit("a", 120, processed=100)
    history.close("a", 100, "revoked")
    history.end([(P0, 130)])
    (entry,) = history.ledger().entries

    assert ("a", worked[-1]) == (entry.first_owner.consumer, entry.first_owner.at_us)


def test_a_record_in_flight_is_unresolved_where_nothing_was_processed():
    """In a gap that workers have left, or behind all; elsewhere it was processed before."""
    unresolved = {}
    for offset in (5, 12, 17, 22):
        history = History()
        history.topic()
        history.start("a")
        history.next_owner("a", 0, 10)
        history.overtake("a", 15, 20)
        history.cut_off("a", offset)
        history.stop("a")
        unresolved[offset] = history.ledger().unresolved

    assert {5: 0, 12: 1, 17: 0, 22: 1} == unresolved


@pytest.mark.parametrize(("reader", "backlog"), [("", 30), ("c1", 0)])
def test_nobody_has_a_backlog_where_a_reader_that_is_counted_alone_is_gone(reader, backlog):
    """A group whose owner is gone has: its next one reads on."""
    unread = Unread()
    gone = account(reader=reader, latest=replace(epoch(1), closed_by=END))

    assert [] == list(_close_account(gone, 30, unread))
    assert backlog == unread.backlog
