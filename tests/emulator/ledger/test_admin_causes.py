"""An administrator who sets committed offsets is to blame for what that alone makes."""

from __future__ import annotations

import pytest

from emulator.ledger.entries import Cause, EntryKind
from emulator.metrics.commits import CommitMeter

from ..metrics.meters import read
from .causes_of import only, owner_at_work
from .history import History


def reset(history: History, offset: int) -> str:
    """Let the administrator commit for orders-0; return the commit."""
    commit = history.send("admin", offset, kind="admin", generation=-1)
    history.accept("admin", commit, offset, generation=-1)
    history.answer("admin", commit)
    return commit


def closed(processed=100, committed=100) -> History:
    """Return a history in which consumer a has closed, and orders-0 has no owner."""
    history = owner_at_work(processed, committed)
    history.close("a", processed, "closed")
    return history


def test_a_reset_back_repeats_what_lies_between():
    """From the offset it was set to up to what had been processed."""
    history = closed()
    reset(history, 30)
    history.next_owner("b", 30, 150)

    only(history, Cause.RESET, 70)


def test_a_reset_forward_loses_what_lies_between():
    """From what had been processed up to the offset it was set to."""
    history = closed()
    reset(history, 120)
    history.next_owner("b", 120, 150)

    only(history, Cause.RESET, 20, EntryKind.LOST)


def test_the_last_of_several_resets_counts_from_where_the_first_began():
    """Resets back and forth in between lose nothing."""
    history = closed()
    reset(history, 0)
    reset(history, 90)
    history.next_owner("b", 90, 150)
    (entry,) = history.ledger().entries

    assert (Cause.RESET, 10) == (entry.cause, entry.count)
    assert "by an administrator, 100 to 90" == entry.detail


@pytest.mark.parametrize("offset", [80, 90])
def test_a_reset_that_does_not_go_back_does_not_repeat(offset):
    """Processed and uncommitted records are repeated because of the crash."""
    history = owner_at_work(100, 80)
    history.crash("a", 100)
    reset(history, offset)
    history.next_owner("b", offset, 150)

    only(history, Cause.CRASHED, 100 - offset)


def test_a_commit_ahead_is_not_the_doing_of_a_reset_to_less():
    """It was committed past already; the reset only made the loss smaller."""
    history = closed(100, 100)
    history.open("a", offset=100)
    history.commit("a", 140, processed=100)
    history.close("a", 100, "closed")
    reset(history, 120)
    history.next_owner("b", 120, 150)

    only(history, Cause.COMMITTED_AHEAD, 20, EntryKind.LOST)


def test_first_offsets_for_a_group_that_lost_its_own_are_a_reset():
    """Where nothing was committed any more, the administrator alone said where to begin."""
    history = closed()
    history.drop("expired")
    reset(history, 60)
    history.next_owner("b", 60, 150)
    (entry,) = history.ledger().entries

    assert (Cause.RESET, 40) == (entry.cause, entry.count)
    assert "by an administrator, to 60" == entry.detail


def test_offsets_that_vanish_after_a_reset_are_gone():
    """The deletion is what the next owner finds."""
    history = closed()
    reset(history, 60)
    history.drop("deleted")
    history.open("b", offset=0, source="earliest", why="deleted")
    history.work("b", 0, 100)

    only(history, Cause.DELETED, 100)


def test_a_commit_of_a_consumer_ends_what_a_reset_began():
    """A commit after the administrator's replaces it as the cause."""
    history = closed()
    reset(history, 30)
    history.next_owner("a", 30, 50)
    history.commit("a", 50)
    history.close("a", 50, "closed")
    history.next_owner("b", 50, 100)
    entries = history.ledger().entries

    assert {Cause.RESET} == {entry.cause for entry in entries}
    assert 70 == sum(entry.count for entry in entries)


def test_a_reset_whose_answer_is_lost_counts_all_the_same():
    """It was accepted; it avoided no duplicate."""
    history = closed()
    commit = history.send("admin", 30, kind="admin", generation=-1)
    history.accept("admin", commit, 30, generation=-1)
    history.lose("admin", commit, "OffsetCommitResponse")
    history.next_owner("b", 30, 150)

    only(history, Cause.RESET, 70)
    assert 0 == history.ledger().duplicates_avoided


def test_an_administrators_commits_are_not_counted_among_the_consumers():
    """Neither as sent, accepted or refused, nor as a rewind; the next one is measured from it."""
    history = History()
    history.commit("a", 100)
    reset(history, 20)
    history.commit("a", 15)
    values = read(CommitMeter(), history).values
    names = ("commits_sent", "commits_accepted", "rewinds", "rewind_records")

    assert [2, 2, 1, 5] == [values[name] for name in names]
