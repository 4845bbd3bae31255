"""Many entries that are alike are one in the JSON document, in the table and on the timeline."""

from __future__ import annotations

from emulator.ledger.entries import Cause, Entry, EntryKind, Owner
from emulator.report.merging import merged_entries
from emulator.report.pages.marks import marks_of
from emulator.report.pages.run_page import entry_details, table_of_entries
from emulator.report.run_document import ledger_document


def entry(number, partition=0):
    """Return a record that a worker lost; every second offset, so that none are adjacent."""
    owner = Owner(consumer="billing-1", incarnation=1, generation=3, at_us=number)
    return Entry(
        id=f"L{number}",
        kind=EntryKind.LOST,
        group="billing",
        topic="orders",
        topic_id="o",
        log_incarnation=0,
        partition=partition,
        first=2 * number,
        last=2 * number,
        first_owner=owner,
        second_owner=None,
        cause=Cause.COMMITTED_AHEAD,
        detail="",
        root=None,
        chain=(),
    )


MANY = [entry(number, partition=number % 2) for number in range(1, 51)]


def test_more_than_forty_are_one_for_each_partition_and_their_counts_add_up():
    """One with its number of entries, and its first and last id."""
    odd, even = sorted(ledger_document(MANY, None), key=lambda each: -each["partition"])

    assert ("L1", "L49", 25, 25, 2, 98) == tuple(
        odd[key] for key in ("id", "last_id", "entries", "count", "first", "last")
    )
    assert ("L2", "L50", 25) == tuple(even[key] for key in ("id", "last_id", "count"))


def test_forty_stay_single_and_so_do_all_on_request():
    """With no further keys."""
    assert 40 == len(ledger_document(MANY[:40], None))
    assert 50 == len(ledger_document(MANY, None, each=True))
    assert "entries" not in ledger_document(MANY[:40], None)[0]


def test_rows_marks_and_details_of_the_page_agree():
    """Each row and each mark leads to the details of the first entry."""
    merged = merged_entries(MANY)
    table, moment = table_of_entries(merged, str), str
    details = [entry_details(each, None, moment) for each in merged]

    assert ["L1 to L49", "L2 to L50"] == [row[0].text for row in table.rows[1:]]
    assert [each.anchor for each in details] == [row[0].target for row in table.rows[1:]]
    assert [f"entry-{mark.id}" for mark in marks_of(merged)] == [each.anchor for each in details]
    assert ("together", "25 entries; below are the events of L1") in details[0].facts
    assert details[0].title.startswith("L1 to L49: orders-1, 25 records lost")
