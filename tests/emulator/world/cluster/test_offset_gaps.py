"""Topics with offsets that hold no record: positions jump, commits lie behind gaps, records are counted."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import CommitAccepted, Processed, ProcessedOutOfOrder, RunEnded
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError

from .gapped_topic import gapped

MARKED = "transaction_records = 7"
COMPACTED = "backlog = 300\ncompacted = 9"
ABORTED = f"{MARKED}\naborted_every = 3"


def played(topic=MARKED, group="", settings='"session.timeout.ms" = "6s"', run_for="40s"):
    """Play two members, one of which crashes and comes back."""
    return emulator.run(loads(gapped(topic, group, settings, run_for=run_for)), 0)


def processed(run):
    """Return how often each offset was processed, by partition and offset."""
    times = {}
    for event in run.events:
        if isinstance(event.what, Processed | ProcessedOutOfOrder):
            what = event.what
            for offset in range(what.first, what.next_offset):
                times[what.partition, offset] = times.get((what.partition, offset), 0) + 1
    return times


def ends(run):
    return dict(run.events[-1].what.log_ends)


def is_marker(offset):
    return offset % 8 == 7


KIP848 = '"group.protocol" = "consumer"'
SHORT = '"session.timeout.ms" = "6s"'
POLICIES = {
    "auto": ("", '"session.timeout.ms" = "6s"'),
    "positions": ('commit = { call = "sync", arguments = false }', '"session.timeout.ms" = "6s"'),
    "offsets": ('commit = "sync"', '"session.timeout.ms" = "6s"'),
    "consumer protocol": ("", KIP848),
    "few records a poll": ("", '"session.timeout.ms" = "6s"\n"max.poll.records" = 3'),
    "librdkafka": ('client = "librdkafka"', '"session.timeout.ms" = "6s"'),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_record_is_processed_and_no_marker(policy):
    """The ledger counts what a count record by record gives; nothing is lost at a marker."""
    run = played(MARKED, *POLICIES[policy])
    times, ledger = processed(run), run.ledger
    records = {
        (tp, offset)
        for tp, end in ends(run).items()
        for offset in range(end)
        if not is_marker(offset)
    }

    assert isinstance(run.events[-1].what, RunEnded)
    assert records >= {*times}
    assert 600 == len(records)
    assert len(times) == ledger.distinct == 600 - ledger.backlog - ledger.in_hand
    assert sum(times.values()) == ledger.processed
    assert sum(times.values()) - len(times) == ledger.reprocessed
    assert 0 == ledger.lost
    assert ledger.reprocessed == sum(entry.count for entry in ledger.entries)
    assert () == run.findings


UNEVEN = 'work_by = { topic = { t = { uniform = ["1ms", "90ms"] } } }'


@pytest.mark.parametrize(
    ("topic", "handler", "setting"),
    [
        (MARKED, '{ workers = 4, order = "none" }', KIP848),
        (ABORTED, '{ workers = 4, order = "none", drain = "all" }', SHORT),
        (ABORTED, '{ workers = 3, order = "key" }', SHORT),
        (COMPACTED, '{ workers = 2, order = "partition", revoked = "continue" }', SHORT),
    ],
)
def test_workers_overtake_one_another_across_gaps(topic, handler, setting):
    """The offset to commit stays before the first unfinished record, and passes offsets without one."""
    group = f'handler = {handler}\n{UNEVEN}\ncommit = "sync"'
    run = played(topic, group, f'{setting}\n"isolation.level" = "read_committed"', "90s")
    times, ledger = processed(run), run.ledger

    assert () == run.findings
    assert 0 == ledger.lost
    assert sum(times.values()) - len(times) == ledger.reprocessed < 300
    assert len(times) == ledger.distinct
    assert (0, 0) == (ledger.backlog, ledger.in_hand)
    for tp, end in ends(run).items():
        behind = max(offset for partition, offset in times if partition == tp)
        assert behind in committed(run)[tp]
        assert max(committed(run)[tp]) < end


def committed(run):
    """Return the records before the accepted offsets, by partition."""
    found = {}
    for event in run.events:
        if isinstance(event.what, CommitAccepted):
            for tp, offset in event.what.offsets:
                found.setdefault(tp, set()).add(offset - 1)
    return found


def test_commits_of_positions_are_behind_markers_and_those_of_offsets_are_not():
    """At the end of production commitSync() reaches the end of the log, commitSync(offsets) does not."""

    def committed(group):
        run = played("transaction_records = 10", group)
        offsets = {}
        for event in run.events:
            if isinstance(event.what, CommitAccepted):
                offsets.update(event.what.offsets)
        return {end - offsets[tp] for tp, end in ends(run).items()}

    assert {0} == committed(POLICIES["positions"][0])
    assert {1} == committed(POLICIES["offsets"][0])


def test_of_a_compacted_backlog_the_records_that_are_left_are_read():
    """300 of 2,700 offsets in each partition, then what is produced."""
    run = played(COMPACTED)
    offsets = [offset for (tp, offset) in processed(run) if tp.partition == 0]

    assert 600 + 600 == run.ledger.distinct
    assert [*range(0, 2_700, 9), *range(2_700, 3_000)] == sorted(offsets)
    assert {3_000} == {*ends(run).values()}
    assert (0, 0) == (run.ledger.lost, run.ledger.backlog)


@pytest.mark.parametrize(
    ("topic", "group", "reason"),
    [
        ("compacted = 3", "", 'set "backlog"'),
        ("compacted = 3\nbacklog = 3\ntransaction_records = 3", "", "only one of"),
        ("transaction_records = 3\nacks = 1", "", "acks"),
        ("transaction_record = 3", "", 'did you mean "transaction_records"'),
    ],
)
def test_what_cannot_be_is_refused(topic, group, reason):
    """With what to write instead."""
    with pytest.raises(ScenarioError) as refused:
        played(topic, group)

    assert reason in str(refused.value)


def test_a_restart_at_a_marker_loses_nothing():
    """Whether the committed offset is that of the marker or the one behind it."""
    for policy in ("offsets", "positions"):
        run = played("transaction_records = 1", *POLICIES[policy])

        assert (0, 600) == (run.ledger.lost, run.ledger.distinct)


BYTES = """
title = "bytes"
run_for = "20s"
[[topic]]
name = "t"
partitions = 1
backlog = 2000
rate = "1/h"
record_size = "1000B"
{topic}
[[group]]
id = "g"
topics = ["t"]
members = 1
work = "1ms"
commit = {{ call = "sync", arguments = false }}
[group.settings]
"auto.offset.reset" = "earliest"
{settings}
"""


def polls(topic, settings):
    """Return how many records each poll returned, of a group that commits after each of them."""
    run = emulator.run(loads(BYTES.format(topic=topic, settings=settings)), 0)
    counts, count = [], 0
    for event in run.events:
        if isinstance(event.what, Processed):
            count += event.what.next_offset - event.what.first
        elif isinstance(event.what, CommitAccepted) and count:
            counts, count = [*counts, count], 0
    return counts


@pytest.mark.parametrize("topic", ["", "transaction_records = 1", "compacted = 20"])
@pytest.mark.parametrize(
    ("settings", "first"),
    [("", 500), ('"max.partition.fetch.bytes" = 300_000', 300), ('"fetch.max.bytes" = 7_000', 7)],
)
def test_offsets_without_records_have_no_bytes(topic, settings, first):
    """A poll returns what the limit of records, or that of bytes, lets through."""
    assert first == polls(topic, settings)[0]


@pytest.mark.parametrize("topic", ["", "transaction_records = 1"])
def test_a_fetch_waits_for_bytes_of_records(topic):
    """At 5 records a second of 1,000 bytes a fetch that wants 10,000 is answered every 2 s."""
    text = BYTES.format(
        topic=topic, settings='"fetch.min.bytes" = 10_000\n"fetch.max.wait.ms" = 9_000'
    )
    live = text.replace("backlog = 2000", "").replace("1/h", "5/s")
    run = emulator.run(loads(live), 0)

    assert 10 <= sum(isinstance(event.what, CommitAccepted) for event in run.events) + 1 <= 11
