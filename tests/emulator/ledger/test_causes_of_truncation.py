"""Logs that lose their end: what is gone, what is repeated for it, what is passed over."""

from __future__ import annotations

import pytest

from emulator.ledger.entries import Cause, EntryKind
from emulator.report.event_wording import link_text

from .causes_of import only, owner_at_work
from .history import P0


def entries(history, kind):
    return [(e.first, e.last, e.log_incarnation) for e in history.ledger().of(kind)]


def test_truncated_unprocessed_records_are_not_lost():
    """Counted apart: no consumer is the cause."""
    history = owner_at_work(100, 100)
    history.truncate(60, 120)
    ledger = history.ledger()

    assert {"truncated after an unclean election": 20} == ledger.by_cause(EntryKind.TRUNCATED)
    assert (20, 0, 0) == (ledger.truncated, ledger.lost, ledger.reprocessed)
    assert [(100, 119, 0)] == entries(history, EntryKind.TRUNCATED)
    assert ["a"] == [entry.first_owner.consumer for entry in ledger.of(EntryKind.TRUNCATED)]


def test_truncation_after_a_clean_election_means_the_leader_acknowledged_alone():
    """No consumer had seen it, so it is not lost either."""
    history = owner_at_work(100, 100)
    history.truncate(100, 120, clean=True)
    ledger = history.ledger()

    assert {Cause.LEADER_ALONE: 20} == ledger.by_cause(EntryKind.TRUNCATED)
    assert (20, 0, 0) == (ledger.truncated, ledger.lost, ledger.reprocessed)


def test_new_records_with_old_offsets_are_no_repeats():
    """An owner whose position was moved back works on other records than before."""
    history = owner_at_work(100, 100)
    history.truncate(60, 100)
    history.open("a", offset=60, source="truncated")
    history.work("a", 60, 130)
    ledger = history.ledger()

    assert () == ledger.entries
    assert (170, 170) == (ledger.processed, ledger.distinct)


def test_a_repeat_is_of_the_log_in_which_it_happened():
    """One entry for each incarnation that a range touches."""
    history = owner_at_work(100, 100)
    history.truncate(60, 100)
    history.open("a", offset=60, source="truncated")
    history.work("a", 60, 90)
    history.crash("a", 90)
    history.next_owner("b", 50, 90)

    assert [(50, 59, 0), (60, 89, 1)] == entries(history, EntryKind.REPROCESSED)


def test_records_fetched_before_a_truncation_are_processed():
    """They count as processed, in the truncated log."""
    history = owner_at_work(100, 100)
    history.truncate(60, 120)
    history.work("a", 100, 110)

    assert [(110, 119, 0)] == entries(history, EntryKind.TRUNCATED)
    assert 110 == history.ledger().distinct


def test_an_owner_that_lags_behind_reads_on_into_the_new_log():
    """A position below the end of the new log needs no reset."""
    history = owner_at_work(50, 50)
    history.truncate(60, 100)
    history.work("a", 50, 60)
    history.read_on("a", 60)
    history.work("a", 60, 80)
    history.end([(P0, 90)], [("a", P0, 80)])
    ledger = history.ledger()

    assert [(60, 99, 0)] == entries(history, EntryKind.TRUNCATED)
    assert (80, 10) == (ledger.distinct, ledger.backlog)


def test_a_committed_offset_out_of_range_repeats_all_there_is():
    """Committed without a leader epoch, it is not checked, and reset to earliest."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "revoked")
    history.truncate(60, 100)
    history.open("b", offset=100)
    history.open("b", offset=0, source="earliest", why="out of range")
    history.work("b", 0, 70)

    only(history, Cause.OUT_OF_RANGE, 60)
    (entry,) = history.ledger().entries
    assert "reset to earliest" == entry.detail
    assert any("without 60 to 99" in link_text(link) for link in entry.chain)


@pytest.mark.parametrize("source", ["latest", "by_duration"])
def test_a_committed_offset_out_of_range_loses_what_the_reset_passes_over(source):
    """The same with another policy: what was produced since the election is never read."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "revoked")
    history.truncate(60, 100)
    history.open("b", offset=100)
    history.open("b", offset=75, source=source, why="out of range")
    history.work("b", 75, 110)
    history.end([(P0, 110)], [("b", P0, 110)])

    only(history, Cause.OUT_OF_RANGE, 15, EntryKind.LOST)
    assert [(60, 74, 1)] == entries(history, EntryKind.LOST)


def test_an_offset_committed_at_the_end_of_the_truncated_log_is_one_of_the_log():
    """What a reset passes over from there is lost by the policy, not by the truncation."""
    history = owner_at_work(100, 100)
    history.truncate(60, 100)
    history.commit("a", 60)
    history.close("a", 100, "revoked")
    history.open("b", offset=60)
    history.open("b", offset=80, source="latest", why="out of range")
    history.work("b", 80, 90)
    history.end([(P0, 130)], [("b", P0, 90)])

    only(history, Cause.RESET_TO_LATEST, 20, EntryKind.LOST)


def test_an_offset_that_is_in_range_again_loses_what_came_before_it():
    """The log has grown beyond it meanwhile, with other records."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "revoked")
    history.truncate(60, 100)
    history.next_owner("b", 100, 110)

    only(history, Cause.TRUNCATED, 40, EntryKind.LOST)


@pytest.mark.parametrize("finished", [100, 60])
def test_a_position_without_an_epoch_reads_on_where_other_records_are(finished):
    """The records between the truncation and there are never read, the first of them included."""
    history = owner_at_work(finished, finished)
    history.truncate(60, 100)
    history.read_on("a", 100)
    history.work("a", 100, 110)

    only(history, Cause.TRUNCATED, 40, EntryKind.LOST)


def test_an_offset_committed_for_what_is_gone_says_nothing_of_the_next_owner():
    """It will begin where the leader epoch check sends it, not there."""
    history = owner_at_work(100, 100)
    history.truncate(60, 100)
    history.crash("a", 100)
    history.end([(P0, 130)])
    ledger = history.ledger()

    assert () == ledger.entries
    assert 70 == ledger.backlog


def test_a_position_moved_back_further_than_the_log_was_cut_repeats():
    """A leader that knows less of the epochs moves readers back by more."""
    history = owner_at_work(100, 100)
    history.truncate(60, 100)
    history.open("a", offset=50, source="truncated")
    history.work("a", 50, 80)

    only(history, Cause.TRUNCATED, 10)


def test_records_skipped_before_a_truncation_stay_lost():
    """They could have been read."""
    history = owner_at_work(100, 100)
    history.let_go("a", 100, 110, "skipped")
    history.truncate(60, 120)

    assert [(100, 109, 0)] == entries(history, EntryKind.LOST)
    assert [(110, 119, 0)] == entries(history, EntryKind.TRUNCATED)
