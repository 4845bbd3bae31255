"""Work time of each record, independent of its consumer; poison records."""

from __future__ import annotations

from functools import lru_cache

import pytest

from assignors.types import TopicPartition
from emulator.events import ConsumerStopped, FaultBegan, NotProcessed, PartlyProcessed, Processed
from emulator.world.consumer.handling.handler import Batch
from protocols.consumer.fetch_buffer import Handed

from ..stage import SECOND, staged

EACH_COMMITTED = 'commit = "async per record"'
"""So that every record's work is an event of its own."""

TRACE = [3_000, 1_000, 20_000, 7]


TOPIC = 'partitions = 6\nrate = "6/s"'


@lru_cache(maxsize=8)
def played(more="", *, group, run_for="14s", seed=0):
    return staged(more, group=group, topic=TOPIC, run_for=run_for, seed=seed)


def group(work, more=""):
    return f"work = {work}\n{EACH_COMMITTED}\n{more}"


def lengths(seen):
    """Return how long the work on each record took, by its address."""
    return {
        (event.what.partition, event.what.first): event.at_us - event.what.began_us
        for event in seen.all(Processed)
        if event.what.next_offset == event.what.first + 1
    }


WORKS = {
    "constant": '"4ms"',
    "uniform": '{ uniform = ["1ms", "9ms"] }',
    "exponential": '{ exponential = "5ms" }',
    "lognormal": '{ lognormal = { median = "3ms", p99 = "40ms" } }',
    "pareto": '{ pareto = { minimum = "1ms", alpha = 1.5, maximum = "50ms" } }',
    "trace": '{ trace = ["3ms", "1ms", "20ms", "7us"] }',
}
WITHIN_US = {
    "constant": (4_000, 4_000),
    "uniform": (1_000, 9_000),
    "exponential": (0, 100_000),
    "lognormal": (0, 200_000),
    "pareto": (1_000, 50_000),
    "trace": (7, 20_000),
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("kind", WORKS)
def test_work_times_are_within_their_bounds(kind):
    """All records of a run, with every kind of distribution."""
    taken = lengths(played(group=group(WORKS[kind]), run_for="9s")).values()
    low, high = WITHIN_US[kind]

    assert low <= min(taken)
    assert max(taken) <= high


@pytest.mark.long
@pytest.mark.parametrize("kind", ["exponential", "trace"])
def test_the_work_time_of_a_record_does_not_depend_on_its_consumer(kind):
    """It is drawn by the record's address: the same after a crash."""
    crash = """
[[fault]]
crash = "g-1"
at = "9s"
"""
    usual = lengths(played(group=group(WORKS[kind]), run_for="14s"))
    others = lengths(played(crash, group=group(WORKS[kind]), run_for="16s"))
    shared = usual.keys() & others.keys()

    assert len(shared) > 200
    assert {key: usual[key] for key in shared} == {key: others[key] for key in shared}


def test_a_trace_is_replayed_in_order_of_offsets():
    """From its start again at the end, for each partition."""
    taken = lengths(played(group=group(WORKS["trace"]), run_for="10s"))

    assert len(taken) > 100
    assert {key: TRACE[key[1] % len(TRACE)] for key in taken} == taken


@pytest.mark.parametrize("kind", sorted(WORKS.keys() - {"constant", "trace"}))
def test_drawn_times_differ_by_partition_and_seed(kind):
    """No two of them have the same."""
    by_seed = [lengths(played(group=group(WORKS[kind]), run_for="9s", seed=s)) for s in (0, 1)]
    zero, one = TopicPartition("t", 0), TopicPartition("t", 1)
    offsets = range(20)

    def of(taken, tp):
        return [taken[tp, offset] for offset in offsets]

    assert of(by_seed[0], zero) != of(by_seed[0], one)
    assert of(by_seed[0], zero) != of(by_seed[1], zero)


def test_a_slower_member_is_slower_for_its_own_records_only():
    """Its own distribution replaces that of the group."""
    slow = """
[[group.member]]
name = "g-2"
work = "30ms"
"""
    seen = played(group=group('"4ms"', slow), run_for="10s")
    by_member = {}
    for event in seen.all(Processed):
        if event.what.next_offset == event.what.first + 1:
            length = event.at_us - event.what.began_us
            by_member.setdefault(event.what.consumer, set()).add(length)

    assert {"g-0": {4_000}, "g-1": {4_000}, "g-2": {30_000}} == by_member


# -- poison --------------------------------------------------------------------------------------

POISONED = TopicPartition("t", 3)


def poisoned(how, work='"4ms"', run_for="20s"):
    poison = f'poison = [{{ topic = "t", partition = 3, offset = 7, {how} }}]'
    return played(group=group(work, poison), run_for=run_for)


@pytest.mark.long
def test_a_slow_record_takes_its_own_time():
    """Whatever the others take."""
    taken = lengths(poisoned('work = "2s"', WORKS["exponential"]))

    assert 2 * SECOND == taken[POISONED, 7]
    assert max(length for key, length in taken.items() if key != (POISONED, 7)) < SECOND


def test_a_retried_record_takes_all_its_attempts_and_the_pauses_between():
    """Two failures of 4 ms, each with a second behind it, and the attempt that succeeds."""
    taken = lengths(poisoned('error = "retry", attempts = 2, backoff = "1s"'))

    assert 3 * 4_000 + 2 * SECOND == taken[POISONED, 7]


def test_a_skipped_record_is_let_go_and_the_next_is_worked_on():
    """It is lost, nothing else is."""
    seen = poisoned('error = "skip"')
    dropped = seen.only(NotProcessed).what

    assert (POISONED, 7, 8, "skipped") == (
        dropped.partition,
        dropped.first,
        dropped.next_offset,
        dropped.why,
    )
    assert 1 == seen.run.ledger.lost
    assert (POISONED, 8) in lengths(seen)


def test_a_record_that_kills_kills_everyone_who_gets_it():
    """One member after the other, each at that record; the first meeting is the root of it all."""
    seen = poisoned('error = "stop"', run_for="60s")
    stopped = seen.all(ConsumerStopped)

    assert ["g-0", "g-1", "g-2"] == sorted(event.what.consumer for event in stopped)
    assert {("failed", f"the handler raised at record 7 of {POISONED}")} == {
        (event.what.how, event.what.reason) for event in stopped
    }
    assert (POISONED, 7) not in lengths(seen)
    assert ["poison-1"] == [event.what.fault for event in seen.all(FaultBegan)]


def test_a_record_that_kills_is_under_work_when_it_does():
    """So it counts as begun and cut off."""
    cut_off = poisoned('error = "stop"', run_for="60s").all(PartlyProcessed)

    assert [(POISONED, 7)] * 3 == [(e.what.partition, e.what.offset) for e in cut_off]


def test_a_batch_that_was_just_done_when_its_process_was_paused_stays_as_it_was():
    """There is no record under work that could end with the pause."""
    batch = Batch.of((Handed(TopicPartition("t", 0), 5, 8),), 100)
    batch.take(lambda _, offset: offset)
    ends = [batch.end_us(index) for index in range(3)]
    batch.resume(3, 9_000)

    assert [105, 111, 118] == ends == [batch.end_us(index) for index in range(3)]
    batch.resume(2, 9_000)
    assert [105, 111, 9_000] == [batch.end_us(index) for index in range(3)]
