"""A restored backup of an offset store: where the next owner begins, and which results are gone.

Source: the ledger's own rules for stores outside Kafka (docs/reference/scenario-file.md, ``restore_store``).
"""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Cause, EntryKind
from emulator.ledger.restores import NOT_IN_BACKUP

from .history import GROUP, P0, History

COMMITTED = 40


def restored(offset: int, *undone: tuple[int, int], worked: bool = True) -> History:
    """Return a history in which the store of a group goes back to *offset*."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable()
    if worked:
        history.open("a")
        history.work("a", 0, COMMITTED)
        history.commit("a", COMMITTED)
        history.crash("a", COMMITTED)
    history.say(
        ev.StoreRestored(
            store="db", group=GROUP, partition=P0, before=COMMITTED, offset=offset, undone=undone
        )
    )
    return history


def test_an_offset_of_the_backup_is_committed():
    """The next owner repeats what was done after it, and the cause is the backup."""
    history = restored(10)
    history.next_owner("b", 10, 50, generation=2)
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert {str(Cause.RESET): 30} == ledger.by_cause(EntryKind.REPROCESSED)
    assert 0 == ledger.lost


def test_a_partition_that_is_not_in_the_backup_has_no_offset():
    """It is dropped, which is why the next owner begins elsewhere."""
    history = restored(-1)
    history.open("b", source="earliest", generation=2)
    history.work("b", 0, 50, generation=2)
    history.end([(P0, 50)])
    (entry,) = history.ledger().entries

    assert (EntryKind.REPROCESSED, COMMITTED) == (entry.kind, entry.count)
    assert any(NOT_IN_BACKUP in link.values for link in entry.chain)


def undone_of(history: History) -> int:
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    return builder.close().undone


@pytest.mark.plain_of(1)
@pytest.mark.parametrize(
    ("undone", "worked", "records"),
    [
        (((10, 40),), True, 30),
        (((10, 20), (30, 40)), True, 20),
        ((), True, 0),
        (((10, 40),), False, 0),
    ],
)
def test_results_that_the_backup_does_not_have_are_counted(undone, worked, records):
    """Each range; none where nothing was undone, or nothing had been processed."""
    assert records == undone_of(restored(10, *undone, worked=worked))


def test_a_restore_that_undid_nothing_removes_no_result():
    """A lag of the backup alone makes records neither lost nor read again."""
    history = restored(COMMITTED)
    history.next_owner("b", COMMITTED, 50, generation=2)
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert [] == list(ledger.entries)
    assert 0 == ledger.undone


def test_results_that_are_gone_are_processed_anew_not_repeated():
    """The next owner begins at the backup's offset: what it does there is done once."""
    history = restored(10, (10, 40))
    history.next_owner("b", 10, 50, generation=2)
    history.end([(P0, 50)])

    assert 0 == history.ledger().reprocessed


@pytest.mark.parametrize("offset", [10, -1])
def test_results_that_are_gone_below_an_owner_that_works_on_are_lost(offset):
    """It does not look at the committed offset again; a next owner would begin there."""
    history = History()
    history.topic()
    history.start("a")
    history.open("a")
    history.work("a", 0, COMMITTED)
    history.commit("a", COMMITTED)
    history.say(
        ev.StoreRestored(
            store="db",
            group=GROUP,
            partition=P0,
            before=COMMITTED,
            offset=offset,
            undone=((10, 40),),
        )
    )
    history.work("a", COMMITTED, 50)
    history.end([(P0, 50)])

    assert {str(Cause.RESET): 30} == history.ledger().by_cause(EntryKind.LOST)


def test_results_of_a_deleted_topic_are_lost():
    """Its records cannot be read again; what the topic of the same name holds later are others."""
    history = History()
    history.topic()
    history.start("a")
    history.open("a")
    history.work("a", 0, COMMITTED)
    history.commit("a", COMMITTED)
    history.delete_topic()
    history.close("a", COMMITTED, "revoked")
    history.say(
        ev.StoreRestored(
            store="db", group=GROUP, partition=P0, before=COMMITTED, offset=-1, undone=((10, 40),)
        )
    )
    history.end([])

    assert {str(Cause.RESET): 30} == history.ledger().by_cause(EntryKind.LOST)
    assert 30 == undone_of(history)


def test_without_an_offset_nobody_is_known_to_read_them_again():
    """``auto.offset.reset`` decides where the next owner begins, and there is none yet."""
    history = restored(-1, (10, 40))
    history.end([(P0, 40)])

    assert {str(Cause.RESET): 30} == history.ledger().by_cause(EntryKind.LOST)
