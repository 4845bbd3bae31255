"""Compaction of a topic while groups read it: what the cleaner removes, and what readers still get."""

from __future__ import annotations

from collections import Counter

import pytest

import emulator
from emulator.events import EpochOpened, Polled, Processed, ProcessedOutOfOrder, RecordsCompacted
from emulator.scenario.keys import factors_of
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError
from emulator.world.cluster.partitions.cleaner import CompactedPartition
from emulator.world.consumer.handling.record_identity import Identities
from protocols.settings import TopicSettings

from .gapped_topic import CRASH, gapped

SECOND = 1_000_000
COMPACT = '"cleanup.policy" = "compact"'
SEGMENTS = '"segment.ms" = "3s"'
SHORT = '"session.timeout.ms" = "6s"'
OFTEN = '[cluster.settings]\n"log.cleaner.backoff.ms" = "2s"\n'


def played(group="", settings=(SHORT,), topic=SEGMENTS, fault=CRASH, work="150ms"):
    """Play two members that are slower than their topic; one of them crashes and comes back."""
    topic = f"keys = {{ count = 12 }}\nsettings = {{ {COMPACT}, {topic} }}"
    text = gapped(topic, group, "\n".join(settings), fault=fault)
    text = text.replace('work = "1ms"', f'work = "{work}"').replace(
        "[[topic]]", f"{OFTEN}[[topic]]"
    )
    return emulator.run(loads(text), 0, polls=True)


def work(run):
    """Return how often each record was processed, and the records that compaction removed."""
    times, removed = Counter(), set()
    for event in run.events:
        match event.what:
            case Processed() | ProcessedOutOfOrder() as what:
                times.update((what.partition, at) for at in range(what.first, what.next_offset))
            case RecordsCompacted() as what:
                gone = {(what.partition, at) for span in what.ranges for at in range(*span)}
                assert not gone & removed, "a record is removed once"
                removed |= gone
    return times, removed


PAUSE = """
[[fault]]
pause = "g-0"
at = "9s"
for = "14s"
"""

READERS = {
    "auto": ("", SHORT),
    "offsets": ('commit = "sync"', SHORT),
    "positions": ('commit = { call = "sync", arguments = false }', SHORT),
    "consumer protocol": ("", '"group.protocol" = "consumer"'),
    "few records a poll": ("", SHORT, '"max.poll.records" = 3'),
    "small fetches": ("", SHORT, '"max.partition.fetch.bytes" = 5_000'),
    "only committed records": ("", SHORT, '"isolation.level" = "read_committed"'),
    "librdkafka": ('client = "librdkafka"', SHORT),
    "aiokafka": ('client = "aiokafka"', SHORT),
    "franz-go": ('client = "franz-go"', SHORT),
    "workers": ("handler = { workers = 3 }", SHORT),
    "workers in order": ('handler = { workers = 3, order = "partition" }\ncommit = "sync"', SHORT),
    "workers of the consumer protocol": (
        "handler = { workers = 3 }",
        '"group.protocol" = "consumer"',
    ),
    "commit before the work": ('commit = "sync before"', SHORT),
    "zookeeper": ('offsets = "zookeeper"', ""),
}


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("fault", [CRASH, PAUSE], ids=["crash", "zombie"])
@pytest.mark.parametrize("reader", READERS)
def test_each_record_counts_once_however_it_ends(reader, fault):
    """Processed, lost, in hand, unread, or removed before it was read: counted record by record."""
    group, *settings = READERS[reader]
    run = played(group=group, settings=settings, fault=fault)
    (times, removed), ledger = work(run), run.ledger
    ends = dict(run.events[-1].what.log_ends)
    parts = ledger.distinct, ledger.lost, ledger.in_hand, ledger.backlog, ledger.compacted

    assert removed
    assert len(times) == ledger.distinct
    assert sum(times.values()) - len(times) == ledger.reprocessed
    assert sum(ends.values()) == sum(parts), parts
    assert 0 < ledger.compacted <= len(removed - {*times})
    assert ledger.compacted + ledger.lost + ledger.in_hand + ledger.backlog >= len(
        removed - {*times}
    )
    assert () == tuple(each for each in run.findings if each.severity == "error")


def test_what_two_owners_process_is_counted_as_they_found_it():
    """A zombie goes on with records that are gone for the new owner; a repeat counts those that are left."""
    run = played(topic='"segment.ms" = "7s"', fault=PAUSE, work="50ms")
    times, _ = work(run)
    entries = [entry for entry in run.ledger.entries if entry.kind == "reprocessed"]

    assert any(entry.without_record for entry in entries)
    assert sum(entry.count for entry in entries) == run.ledger.reprocessed
    assert sum(times.values()) - len(times) == run.ledger.reprocessed > 0


def test_the_newest_record_of_each_key_remains():
    """Below the last offset that a pass took into account; whether anybody reads it does not matter."""
    run = played(fault="")
    _, removed = work(run)
    keys = Identities(run.scenario, 0)
    for tp, end in dict(run.events[-1].what.log_ends).items():
        gone = sorted(at for partition, at in removed if partition == tp)
        left = [at for at in range(max(gone)) if at not in {*gone}]
        newest = {keys.key(tp, at): at for at in range(end)}
        for at in gone:
            assert newest[keys.key(tp, at)] > at
        assert len({keys.key(tp, at) for at in left}) == len(left), "one record of a key is left"


def test_a_reader_that_begins_later_gets_no_removed_record():
    """What was removed before an owner began, no poll of it returns; the others keep what they have."""
    run = played()
    removed, opened_with = set(), {}
    for event in run.events:
        match event.what:
            case RecordsCompacted() as what:
                removed |= {(what.partition, at) for span in what.ranges for at in range(*span)}
            case EpochOpened() as what:
                opened_with[what.consumer, what.partition] = frozenset(removed)
            case Polled() as what:
                for tp, first, end in what.ranges:
                    got = {(tp, at) for at in range(first, end)}
                    assert not got & opened_with[what.consumer, tp]


def test_younger_records_than_the_compaction_lag_remain():
    """``min.compaction.lag.ms`` keeps each record at least so long."""
    run = played(topic=f'{SEGMENTS}, "min.compaction.lag.ms" = "8s"', fault="")
    passes = [event for event in run.events if isinstance(event.what, RecordsCompacted)]
    per_s = [10 * factor for factor in factors_of(run.scenario.topic[0])]

    assert passes
    for event in passes:
        youngest = max(end for _, end in event.what.ranges) - 1
        age_us = event.at_us - youngest / per_s[event.what.partition.partition] * SECOND
        assert age_us >= 8 * SECOND


class Stalled:
    """A log of 45 records, of which those from 25 on are not replicated; segments have ten."""

    record_size, start, gaps = 100, 0, None

    def end(self, _):
        return 45

    def high_watermark(self, _):
        return 25

    def appended_at(self, offset):
        return offset

    def compact(self, removed):
        self.gaps = removed


def test_a_segment_that_is_not_replicated_as_a_whole_is_not_compacted():
    """The log is clean up to the beginning of the segment with the high watermark, also behind it."""
    settings = TopicSettings(segment_bytes=1_000, min_cleanable_dirty_ratio=0.0)
    partition = CompactedPartition(Stalled(), settings, lambda offset: offset % 2)

    assert ((0, 18),) == partition.compact(45)
    assert 20 == partition.clean


@pytest.mark.parametrize(
    ("topic", "compacts"),
    [
        (f'{SEGMENTS}, "min.cleanable.dirty.ratio" = 1.0', False),
        (f'{SEGMENTS}, "min.cleanable.dirty.ratio" = 1.0, "max.compaction.lag.ms" = "5s"', True),
        ('"segment.ms" = "1h"', False),
        ('"segment.ms" = "1h", "max.compaction.lag.ms" = "5s"', True),
    ],
)
def test_when_a_partition_is_compacted(topic, compacts):
    """If enough of it is dirty or something has been for too long, and never the active segment."""
    run = played(topic=topic, fault="")

    assert compacts == any(isinstance(event.what, RecordsCompacted) for event in run.events)


def test_a_group_that_keeps_up_misses_nothing():
    """It processes each record before the segment that holds it is rolled."""
    run = played(work="1ms", topic='"segment.ms" = "8s"', fault="")
    _, removed = work(run)

    assert removed
    assert (0, 0) == (run.ledger.compacted, run.metrics["compacted_unread"])


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        (f"settings = {{ {COMPACT} }}", "keys"),
        (
            f"keys = {{ count = 5 }}\nretention = '1min'\nsettings = {{ {COMPACT} }}",
            "compact,delete",
        ),
        ('settings = { "segment.ms" = "1min" }', 'cleanup.policy = "compact"'),
        ('settings = { "cleanup.polcy" = "compact" }', 'did you mean "cleanup.policy"'),
        ('settings = { "session.timeout.ms" = "6s" }', "group's"),
        (
            f"keys = {{ count = 5 }}\ntransaction_records = 5\nsettings = {{ {COMPACT} }}",
            "combined",
        ),
    ],
)
def test_what_cannot_be_is_refused(topic, reason):
    """With the reason, the key to set, or the nearest name."""
    with pytest.raises(ScenarioError) as refused:
        loads(gapped(topic, "", ""))

    assert reason in str(refused.value)


def test_a_database_with_offsets_is_refused():
    with pytest.raises(ScenarioError, match="database"):
        played(group='offsets = "database"')
