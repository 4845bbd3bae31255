"""Compared figures are read from events alone, as in the captures' own summaries."""

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from emulator.conformance.figures import tolerances_of
from emulator.conformance.history.run import history
from emulator.conformance.observed import View, observe
from emulator.events import (
    CommitAccepted,
    ConsumerStarted,
    EpochOpened,
    Event,
    ListenerCalled,
    PartitionsAdded,
    Processed,
    TopicCreated,
)
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import EntryKind

VIEW = View(prefix="x.", fault_us=100, faulted=None, end_us=1000)


def partition(number=0):
    return TopicPartition("x.t0", number)


def started(consumer="m1", incarnation=1):
    return ConsumerStarted(consumer=consumer, group="g", incarnation=incarnation, instance_id=None)


def listened(call, *numbers, consumer="m1", generation=1):
    return ListenerCalled(
        consumer=consumer,
        group="g",
        generation=generation,
        call=call,
        partitions=tuple(partition(number) for number in numbers),
        began_us=0,
    )


def opened(offset, number=0, consumer="m1"):
    return EpochOpened(
        consumer=consumer,
        group="g",
        generation=1,
        partition=partition(number),
        offset=offset,
        source="committed",
    )


def processed(first, end, number=0, consumer="m1", began_us=0):
    return Processed(
        consumer=consumer,
        group="g",
        generation=1,
        partition=partition(number),
        first=first,
        next_offset=end,
        began_us=began_us,
    )


def seen(*timed, view=VIEW):
    events = (
        Event(number, at_us, None, what, number) for number, (at_us, what) in enumerate(timed)
    )
    return observe(events, view)


def summary_of(run):
    """Return a capture's own account, in the words of what is observed."""
    summary, orphaned = run.summary, {run.shown(p) for p in run.orphaned}
    by_partition = summary["per_partition"].items()
    in_run = run.end_us - run.fault_us
    return {
        "rebalances": summary["rebalances_after_fault"],
        "duplicates": {p: one["duplicates"] for p, one in by_partition if one["duplicates"]},
        "lost": {
            p: one["missing"]["n"]
            for p, one in by_partition
            if one["missing"] and p not in orphaned
        },
        "takeovers": summary["takeover_s"],
        "calls": {
            name: tuple(
                (call, tuple(sorted(partitions)))
                for at_s, _, call, partitions in calls
                if call in {"assigned", "revoked", "lost"} and at_s * 1_000_000 <= in_run
            )
            for name, calls in summary["callbacks"].items()
        },
        "generations": {
            generation
            for seen in summary["gen_seq"].values()
            for at_s, generation, _ in seen
            if generation >= 0 and at_s * 1_000_000 <= in_run
        },
    }


def observed_in(run):
    found = observe(history(run), tolerances_of(run).view)
    return {
        "rebalances": found.rebalances,
        "duplicates": found.duplicates,
        "lost": found.lost,
        "takeovers": {p: round(taken, 3) for p, taken in found.takeovers.items()},
        "calls": found.calls,
        "generations": set(found.generations),
    }


def stalls_apart(run):
    """Return the partitions whose stall differs from the capture's own figure.

    For partitions that are not read to the end, that figure excludes the end; of topics that were
    created again it excludes the time before that.
    """
    found = observe(history(run), tolerances_of(run).view).stalls
    expected_stalls = {p: stall for p, stall in run.summary["max_stall_s"].items() if stall}
    again = {former.topic.removeprefix(run.prefix) for former in run.formers}
    expected_stalls = {
        p: stall for p, stall in expected_stalls.items() if p.rpartition("-")[0] not in again
    }
    read = sorted(expected_stalls.keys() - {run.shown(p) for p in run.orphaned})
    return [p for p in read if abs(found.get(p, 0) - expected_stalls[p][0]) > 0.02]


def ledger_totals(run):
    books = LedgerBuilder()
    for event in history(run):
        books.feed(event)
    ledger = books.close()
    totals = {EntryKind.REPROCESSED: {}, EntryKind.LOST: {}}
    for entry in ledger.entries:
        if entry.kind in totals:
            name = run.shown(TopicPartition(entry.topic, entry.partition))
            totals[entry.kind][name] = totals[entry.kind].get(name, 0) + entry.count
    return totals


@pytest.mark.long
def test_kept_captures_are_seen_as_their_summaries_count_them(kept_runs):
    """Duplicates, losses, rebalances, calls and takeovers equal the capture's own account."""
    for run in kept_runs:
        assert summary_of(run) == observed_in(run), run.name


@pytest.mark.long
def test_stalls_of_kept_captures_are_as_long_as_their_summaries_say(kept_runs):
    """The longest time without work on a partition, to 20 ms."""
    for run in kept_runs:
        assert [] == stalls_apart(run), run.name


@pytest.mark.long
def test_the_figures_of_every_capture_are_those_of_its_summary(comparable_capture):
    """The same holds on every comparable capture at hand."""
    assert summary_of(comparable_capture) == observed_in(comparable_capture)
    assert [] == stalls_apart(comparable_capture)


@pytest.mark.long
def test_the_ledger_of_a_kept_capture_has_its_totals(kept_runs):
    """A real run's events give a ledger whose totals are the capture's, partition by partition."""
    for run in kept_runs:
        wanted, totals = summary_of(run), ledger_totals(run)

        assert wanted["duplicates"] == totals[EntryKind.REPROCESSED], run.name
        assert wanted["lost"] == totals[EntryKind.LOST], run.name


@pytest.mark.long
def test_the_ledger_of_every_capture_has_its_totals(comparable_capture):
    """The same holds on every comparable capture at hand."""
    expected, totals = summary_of(comparable_capture), ledger_totals(comparable_capture)

    assert expected["duplicates"] == totals[EntryKind.REPROCESSED]
    assert expected["lost"] == totals[EntryKind.LOST]


def test_each_processing_after_the_first_is_a_duplicate():
    """Three processings of a record count two, of any consumers."""
    found = seen(
        (1, opened(0)),
        (2, processed(0, 10)),
        (3, processed(5, 10, consumer="m2")),
        (4, processed(8, 12)),
    )

    assert found.duplicates == {"t0-0": 7}
    assert found.lost == {}


def test_a_gap_below_the_farthest_progress_is_lost():
    """Records between a start and later work that were never processed are lost."""
    found = seen((1, opened(5)), (2, processed(5, 10)), (3, opened(14)), (4, processed(14, 20)))

    assert found.lost == {"t0-0": 4}


def test_a_gap_that_a_slower_owner_fills_is_not_lost():
    """A zombie's later work on passed-over records counts."""
    found = seen(
        (1, opened(0)),
        (2, opened(10, consumer="m2")),
        (3, processed(10, 20, consumer="m2")),
        (4, processed(0, 10)),
    )

    assert found.lost == {}


def test_a_start_beyond_all_work_loses_what_lies_before_it():
    """An epoch that processed nothing still passes over what lies below its start."""
    assert seen((1, opened(0)), (2, processed(0, 3)), (3, opened(10))).lost == {"t0-0": 7}


def test_records_before_the_group_are_not_lost():
    """A partition counts from its first start if it existed when the group formed."""
    created = TopicCreated(topic="x.t0", topic_id="id", log_starts=(0,))

    found = seen((0, created), (1, listened("assigned", 0)), (2, opened(40)))
    assert found.lost == {}


def test_a_partition_added_later_counts_from_its_beginning():
    """Records of a new partition skipped by ``latest`` are lost."""
    created = TopicCreated(topic="x.t0", topic_id="id", log_starts=(0,))
    added = PartitionsAdded(topic="x.t0", topic_id="id", partitions=2)

    found = seen(
        (0, created),
        (1, listened("assigned", 0)),
        (2, opened(40)),
        (3, added),
        (4, opened(9, number=1)),
    )
    assert found.lost == {"t0-1": 9}


def test_a_topic_created_later_counts_from_its_beginning():
    """A topic that comes to match a pattern counts from offset 0."""
    created = TopicCreated(topic="x.t0", topic_id="id", log_starts=(0,))

    found = seen((0, listened("assigned")), (1, created), (2, opened(9)))
    assert found.lost == {"t0-0": 9}


def test_the_lives_of_a_topic_that_is_created_again_are_counted_apart():
    """Its offsets begin at 0 again; work that began before belongs to the old topic."""
    created = TopicCreated(topic="x.t0", topic_id="id", log_starts=(0,))

    found = seen(
        (0, created),
        (1, listened("assigned", 0)),
        (1, opened(0)),
        (2, processed(0, 5, began_us=1)),
        (4, created),
        (5, processed(5, 9, began_us=3)),
        (6, opened(0)),
        (8, processed(2, 9, began_us=7)),
        (9, processed(7, 9, began_us=8)),
    )

    assert {"t0-0": 2} == found.lost
    assert {"t0-0": 2} == found.duplicates


def test_nothing_after_the_end_is_seen():
    """The final closes are not part of a run."""
    found = seen((1, started()), (2, listened("assigned", 0)), (1001, listened("revoked", 0)))

    assert found.calls == {"m1.1": (("assigned", ("t0-0",)),)}


def test_assignments_are_what_a_consumer_owns_after_the_call():
    """Cooperative calls name only what changes; what is owned adds up."""
    found = seen(
        (1, started()),
        (2, listened("assigned", 0, 1)),
        (200, listened("revoked", 1, generation=2)),
        (201, listened("assigned", generation=2)),
        (300, listened("assigned", 5, generation=3)),
    )

    assert found.generations == (1, 2, 3)
    assert found.rebalances == 2
    assert found.assignments == {
        1: {"m1.1": ("t0-0", "t0-1")},
        2: {"m1.1": ("t0-0",)},
        3: {"m1.1": ("t0-0", "t0-5")},
    }


def test_a_takeover_ends_with_another_consumers_first_record():
    """Only partitions of the faulted consumer count, from the fault to the first begin."""
    view = replace(VIEW, faulted="m1")
    found = seen(
        (1, started()),
        (2, started("m2")),
        (3, listened("assigned", 0, 1)),
        (4, listened("assigned", 2, consumer="m2")),
        (5, processed(0, 5, number=0, consumer="m1", began_us=4)),
        (150, processed(5, 6, number=1, consumer="m1", began_us=120)),
        (300, processed(5, 9, number=0, consumer="m2", began_us=250)),
        (400, processed(5, 9, number=1, consumer="m2", began_us=350)),
        (500, processed(5, 9, number=2, consumer="m1", began_us=450)),
        view=view,
    )

    assert found.takeovers == {"t0-0": 0.00015, "t0-1": 0.00025}


def test_the_same_consumer_restarted_takes_over_from_itself():
    """A returning member is another incarnation."""
    found = seen(
        (1, started()),
        (2, listened("assigned", 0)),
        (200, started(incarnation=2)),
        (201, listened("assigned", 0)),
        (300, processed(5, 9, began_us=250)),
        view=replace(VIEW, faulted="m1"),
    )

    assert found.takeovers == {"t0-0": 0.00015}
    assert list(found.calls) == ["m1.1", "m1.2"]


def test_where_no_consumer_was_hit_all_moved_partitions_count():
    """At a join every partition that found a new owner is taken over, new ones too."""
    found = seen(
        (1, started()),
        (2, listened("assigned", 0, 1)),
        (200, started("m2")),
        (300, processed(5, 9, number=0, consumer="m2", began_us=250)),
        (310, processed(5, 9, number=1, consumer="m1", began_us=260)),
        (320, processed(0, 9, number=2, consumer="m1", began_us=270)),
    )

    assert found.takeovers == {"t0-0": 0.00015, "t0-2": 0.00017}


def test_commits_are_counted_by_consumer():
    """Accepted commits of at least one offset count, empty ones do not."""
    accepted = CommitAccepted(
        consumer="m1",
        group="g",
        generation=1,
        commit="1",
        offsets=((partition(), 3),),
        log_offset=0,
    )

    found = seen((1, started()), (2, accepted), (3, accepted), (4, replace(accepted, offsets=())))
    assert found.commits == {"m1.1": 2}
