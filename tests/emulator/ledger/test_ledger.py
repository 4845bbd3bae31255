"""The ledger as a whole: bases, ends, ids, roots, chains, and what history it needs."""

from __future__ import annotations

import tracemalloc

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.accounts import MAX_ALTERNATIONS
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Cause, EntryKind
from emulator.report.event_wording import link_text

from .history import GROUP, P0, P1, History


def crash_of_a(processed=100, committed=80):
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable()
    history.open("a")
    history.work("a", 0, committed)
    history.commit("a", committed)
    history.work("a", committed, processed)
    history.crash("a", processed)
    history.open("b", offset=committed, generation=2)
    history.work("b", committed, processed + 20, generation=2)
    return history


def test_an_entry_names_both_owners_with_generation_and_time():
    """The first and the second owner of a range, each with generation and time."""
    history = crash_of_a()
    entry = history.ledger().entry("D1")
    worked = {e.what.consumer: e.at_us for e in history.events if type(e.what) is ev.Processed}

    assert ("a", 1, 1) == (
        entry.first_owner.consumer,
        entry.first_owner.incarnation,
        entry.first_owner.generation,
    )
    assert ("b", 2) == (entry.second_owner.consumer, entry.second_owner.generation)
    assert worked == {"a": entry.first_owner.at_us, "b": entry.second_owner.at_us}
    assert (80, 99, 20) == (entry.first, entry.last, entry.count)


def test_an_entry_hangs_on_the_fault_that_began_it():
    """The root is found along the causes of events, and the chain leads from it to the start."""
    entry = crash_of_a().ledger().entry("D1")
    chain = [link_text(link) for link in entry.chain]

    assert "crash a" == entry.root.id
    assert "a began orders-0 at 0 (committed)" == chain[0]
    assert "crash a" == chain[1]
    assert "b began orders-0 at 80 (committed)" == chain[-1]
    assert sorted(link.instant for link in entry.chain) == [link.instant for link in entry.chain]


def test_ids_count_by_time_then_partition():
    """D1 is what was reprocessed first, and of one instant the lower partition."""
    history = History()
    for partition in (P1, P0):
        history.open("a", partition)
        history.work("a", 0, 10, partition)
        history.close("a", 10, "revoked", partition=partition)
        history.open("b", partition)
    history.work("b", 0, 5, P1)
    history.now_us -= 1_000
    history.work("b", 0, 5, P0)
    entries = history.ledger().entries

    assert [("D1", P0), ("D2", P1)] == [(e.id, e.topic_partition) for e in entries]


def test_the_next_owner_that_never_came_loses_what_was_committed_ahead():
    """Records below the commit of an owner that left are lost even without a next owner."""
    history = History()
    history.open("a")
    history.commit("a", 50, processed=0)
    history.work("a", 0, 20)
    history.crash("a", 20)
    history.end([(P0, 80)])
    ledger = history.ledger()

    assert {str(Cause.COMMITTED_AHEAD): 30} == ledger.by_cause(EntryKind.LOST)
    assert ledger.entry("L1").second_owner is None
    assert 30 == ledger.backlog


def test_records_in_flight_of_a_living_owner_are_not_lost():
    """Committed records still in flight at the end may yet be processed."""
    history = History()
    history.open("a")
    history.commit("a", 50, processed=0)
    history.work("a", 0, 20)
    history.end([(P0, 80)], [("a", P0, 50)])
    ledger = history.ledger()

    assert () == ledger.entries
    assert (30, 30) == (ledger.in_hand, ledger.backlog)


def test_partitions_without_an_owner_are_backlog():
    """Unread partitions of a topic the group reads wait; they are not lost."""
    history = History()
    history.topic()
    history.open("a")
    history.end([(P0, 10), (P1, 25)])

    assert 35 == history.ledger().backlog


def test_a_deleted_topic_never_aliases_its_successor():
    """The same name and offsets of another topic are other records."""
    history = History()
    history.topic(topic_id="T1")
    history.open("a")
    history.work("a", 0, 50)
    history.commit("a", 50)
    history.delete_topic()
    history.topic(topic_id="T2")
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 50)
    history.work("a", 50, 60)
    history.open("a", offset=0, source="earliest", why="no offset")
    history.work("a", 0, 10)
    entries = history.ledger().entries

    assert ["T2"] == [entry.topic_id for entry in entries]
    assert [10] == [entry.count for entry in entries]


def test_a_partition_added_to_a_stable_group_counts_from_its_beginning():
    """Records that latest skips are lost in an added partition, but not in an old one."""
    history = History()
    history.topic(starts=(0,))
    history.stable()
    history.grow(2)
    history.open("a", P0, offset=40, source="latest", why="no offset")
    history.open("a", P1, offset=40, source="latest", why="no offset")
    entries = history.ledger().entries

    assert [(P1, 0, 39)] == [(e.topic_partition, e.first, e.last) for e in entries]


def test_partial_work_counts_each_attempt_and_is_no_reprocessing():
    """A record cut off twice and then processed has two partial entries and no other."""
    history = History()
    history.open("a")
    history.work("a", 0, 5)
    history.cut_off("a", 5)
    history.commit("a", 5)
    history.crash("a", 5)
    history.open("b", offset=5)
    history.cut_off("b", 5)
    history.crash("b", 5)
    history.next_owner("c", 5, 9)
    ledger = history.ledger()

    assert ["P1", "P2"] == [entry.id for entry in ledger.entries]
    assert ["a", "b"] == [entry.first_owner.consumer for entry in ledger.entries]
    assert (0, 2) == (ledger.reprocessed, ledger.partial)


@pytest.mark.parametrize(("committed", "unresolved"), [(10, 1), (50, 0)])
def test_a_record_in_flight_at_a_crash_is_unresolved_until_it_counts_as_lost(committed, unresolved):
    """The next owner may yet process it, unless it has begun behind it."""
    history = History()
    history.open("a")
    history.commit("a", committed, processed=0)
    history.overtake("a", 20, 30)
    history.cut_off("a", 10)
    history.crash("a", 10)
    if committed > 10:
        history.next_owner("b", committed, 60)
    history.end([(P0, 60)])

    assert unresolved == history.ledger().unresolved


def test_a_record_in_flight_behind_all_that_was_processed_is_unresolved():
    """The next owner begins with it."""
    history = History()
    history.next_owner("a", 0, 5)
    history.cut_off("a", 5)
    history.crash("a", 5)

    assert 1 == history.ledger().unresolved


def test_a_process_that_ends_without_a_word_closes_its_epochs():
    """A history that shows a kill and no closed epoch still names the crash."""
    history = History()
    history.open("a")
    history.work("a", 0, 50)
    history.stop("a", "killed")
    history.open("b")
    history.work("b", 0, 50)

    assert {str(Cause.CRASHED): 50} == history.ledger().by_cause()


def test_a_new_incarnation_closes_what_the_old_one_left_open():
    """A start implies that the process before it is gone."""
    history = History()
    history.start("a")
    history.open("a")
    history.work("a", 0, 50)
    history.start("a", incarnation=2)
    history.open("a")
    history.work("a", 0, 50)

    assert {str(Cause.CRASHED): 50} == history.ledger().by_cause()


def test_work_without_an_opened_epoch_opens_one():
    """A history of nothing but processing still counts every repeat."""
    history = History()
    history.work("a", 0, 50)
    history.work("b", 30, 60)
    history.work("a", 10, 20)
    ledger = history.ledger()

    assert 20 + 10 == ledger.reprocessed


def test_records_up_to_the_end_of_a_closed_epoch_are_processed():
    """The end that a closed epoch names counts as processed."""
    history = History()
    history.open("a")
    history.close("a", 40, "revoked")
    history.next_owner("b", 30, 40)

    assert 10 == history.ledger().reprocessed


def test_the_newest_fault_that_names_an_owner_is_the_root_without_links():
    """A real Kafka's history has no causes; names and times must do."""
    history = History()
    history.start("a", "b")
    history.open("a")
    history.work("a", 0, 50)
    history.fault("other", "pause", "x")
    history.fault("mine", "crash", "a")
    history.fault("later", "pause", "y")
    history.stop("a")
    history.open("b")
    history.work("b", 0, 50)

    assert "mine" == history.ledger().entry("D1").root.id


def test_entries_of_owners_that_take_turns_stay_few():
    """Two owners side by side for long make a bounded number of entries, all records counted."""
    history = History()
    history.open("a")
    history.pause("a")
    history.open("b", generation=2)
    for start in range(0, 4000, 2):
        leader, other = ("a", "b") if start % 4 else ("b", "a")
        history.work(leader, start, start + 2)
        history.work(other, start, start + 2)
    ledger = history.ledger()

    assert 4000 == ledger.reprocessed
    assert len(ledger.entries) <= MAX_ALTERNATIONS + 1


def test_groups_that_read_one_topic_have_books_of_their_own():
    """A record processed by two groups is processed once by each."""
    history = History()
    history.work("a", 0, 50)
    done = history.events[-1].what
    other = ev.Processed(
        consumer="z",
        group="audit",
        generation=1,
        partition=P0,
        first=0,
        next_offset=50,
        began_us=0,
    )
    history.say(other)

    assert (GROUP, "audit") == (done.group, other.group)
    assert 0 == history.ledger().reprocessed


def test_an_unknown_entry_is_asked_for_in_vain_with_a_hint():
    """The error names the entries there are."""
    ledger = crash_of_a().ledger()

    with pytest.raises(KeyError, match=r"no ledger entry 'D7'; there are D1\"$"):
        ledger.entry("D7")


def test_an_undisturbed_history_has_an_empty_ledger():
    """Clean hand-overs leave nothing to write."""
    history = History()
    history.topic()
    history.open("a")
    for start in range(0, 500, 10):
        history.work("a", start, start + 10)
        history.commit("a", start + 10)
    history.close("a", 500, "revoked")
    history.next_owner("b", 500, 600)

    assert () == history.ledger().entries


def test_memory_does_not_grow_with_time():
    """A quiet day costs the builder no more than a quiet hour."""
    partition = TopicPartition("orders", 0)
    builder = LedgerBuilder()
    history = History()
    history.open("a", partition)

    def live(rounds):
        for _ in range(rounds):
            start = 10 * live.rounds
            history.work("a", start, start + 10, partition)
            history.commit("a", start + 10, partition=partition)
            live.rounds += 1
            for event in history.events:
                builder.feed(event._replace(row=event.row + live.rows))
            live.rows += len(history.events)
            history.events.clear()

    live.rounds, live.rows = 0, 0
    live(500)
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        live(2_000)
        grown = tracemalloc.take_snapshot().compare_to(before, "filename")
    finally:
        tracemalloc.stop()
    ours = sum(stat.size_diff for stat in grown if "emulator/measure" in str(stat.traceback))

    assert ours < 20_000


def test_an_owner_that_works_on_loses_nothing_that_is_committed_ahead():
    """It still holds those records at the end of the run; only the owner after it would skip them."""
    history = History()
    history.open("a")
    history.commit("a", 50, processed=0)
    history.work("a", 0, 20)
    history.end([(P0, 80)])

    assert [] == list(history.ledger().entries)


@pytest.mark.parametrize(("ends", "to_come"), [(False, 30), (True, 0)])
def test_only_an_owner_that_works_on_has_records_yet_to_repeat(ends, to_come):
    """Of what another one has processed, from where it is on; one that is gone repeats nothing."""
    history = History()
    history.open("a")
    history.work("a", 0, 50)
    history.crash("a", 50)
    history.next_owner("b", 0, 20, generation=2)
    if ends:
        history.close("b", 20, "revoked", generation=2)
    history.end([(P0, 50)])

    assert to_come == history.ledger().to_reprocess
