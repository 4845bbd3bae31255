"""Transactions of producers: what consumers read of them at each isolation level, and when."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import CommitAccepted, EpochOpened, FaultBegan, Processed
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError

from .gapped_topic import CRASH, gapped

SECOND = 1_000_000
SIZE, EVERY = 7, 3
COMMITTED = '"isolation.level" = "read_committed"'
TOPIC = f"transaction_records = {SIZE}\naborted_every = {EVERY}"
SHORT = '"session.timeout.ms" = "6s"'


def played(topic=TOPIC, group="", settings=(COMMITTED, SHORT), reset="earliest", fault=CRASH):
    """Play two members, one of which crashes and comes back."""
    text = gapped(topic, group, "\n".join(settings), reset=reset, fault=fault)
    return emulator.run(loads(text), 0)


def processed(run):
    """Return how often each offset was processed, and when first."""
    times, first_us = {}, {}
    for event in run.events:
        if isinstance(event.what, Processed):
            what = event.what
            for offset in range(what.first, what.next_offset):
                key = what.partition, offset
                times[key] = times.get(key, 0) + 1
                first_us.setdefault(key, event.at_us)
    return times, first_us


def is_marker(offset):
    return offset % (SIZE + 1) == SIZE


def is_aborted(offset):
    return offset // (SIZE + 1) % EVERY == EVERY - 1


def records(run, *, committed):
    """Return all records of the topic that a reader gets, by the definition."""
    return {
        (tp, offset)
        for tp, end in dict(run.events[-1].what.log_ends).items()
        for offset in range(end)
        if not is_marker(offset) and not (committed and is_aborted(offset))
    }


READERS = {
    "auto": ("", COMMITTED, SHORT),
    "positions": ('commit = { call = "sync", arguments = false }', COMMITTED, SHORT),
    "offsets": ('commit = "sync"', COMMITTED, SHORT),
    "consumer protocol": ("", COMMITTED, '"group.protocol" = "consumer"'),
    "few records a poll": ("", COMMITTED, SHORT, '"max.poll.records" = 3'),
    "small fetches": ("", COMMITTED, SHORT, '"max.partition.fetch.bytes" = 5_000'),
    "librdkafka by default": ('client = "librdkafka"', SHORT),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_committed_records_get_each_of_them_and_no_aborted_one(reader):
    """The ledger counts what a count record by record gives; nothing is lost at an aborted one."""
    group, *settings = READERS[reader]
    run = played(group=group, settings=settings)
    (times, _), ledger = processed(run), run.ledger
    readable = records(run, committed=True)

    assert readable >= {*times}
    assert len(times) == ledger.distinct == len(readable) - ledger.backlog - ledger.in_hand
    assert sum(times.values()) - len(times) == ledger.reprocessed
    assert (0, 0) == (ledger.lost, run.metrics["aborted_processed"])
    assert () == run.findings


def test_readers_of_all_records_process_aborted_ones():
    """Kafka's default; the metric counts each of them once."""
    run = played(settings=(SHORT,))
    times, _ = processed(run)

    assert records(run, committed=False) == {*times}
    assert sum(is_aborted(offset) for _, offset in times) == run.metrics["aborted_processed"]
    assert (0, ()) == (run.ledger.lost, run.findings)


def test_records_are_read_when_their_transaction_ends():
    """The last stable offset waits for the seventh record; without transactions the first is read."""
    topic = f"transaction_records = {SIZE}"
    group = 'commit = "sync"'
    _, committed_us = processed(played(topic, group, (COMMITTED,), fault=""))
    _, all_us = processed(played(topic, group, (), fault=""))
    waits = [
        (at_us - all_us[tp, offset]) / SECOND
        for (tp, offset), at_us in committed_us.items()
        if offset % (SIZE + 1) == 0 and 8 * 14 < offset < 8 * 30
    ]

    assert committed_us.keys() == all_us.keys()
    assert waits
    assert 0.6 <= min(waits) <= max(waits) < 0.7, sorted(waits)


def test_the_last_transaction_ends_with_the_last_record():
    """300 records are 42 transactions and a rest of 6: nothing waits for a record that never comes."""
    run = played(f"transaction_records = {SIZE}", fault="", settings=(COMMITTED,))

    assert (600, 0) == (run.ledger.distinct, run.ledger.backlog)


@pytest.mark.parametrize(("level", "is_boundary"), [(COMMITTED, True), ("", False)])
def test_latest_is_the_last_stable_offset(level, is_boundary):
    """A reset to latest within an open transaction begins before it, or at the end of the log."""
    group = 'member = [{ name = "g-0", start = "10.25s" }, { name = "g-1", start = "10.25s" }]'
    run = played("transaction_records = 50", group, (level,), "latest", "")
    starts = [e.what.offset for e in run.events if isinstance(e.what, EpochOpened)]

    assert starts
    assert is_boundary == all(start % 51 == 0 for start in starts)


SEEK = """
[[fault]]
seek = "g-0"
at = "12.25s"
{to}
"""


@pytest.mark.parametrize(
    "to", ['to = "latest"', 'by_duration = "1ms"', 'to_datetime = "20s"', "shift_by = 1000"]
)
@pytest.mark.parametrize(("level", "is_boundary"), [(COMMITTED, True), ("", False)])
def test_a_seek_to_the_end_goes_to_the_last_stable_offset(to, level, is_boundary):
    """As ``seekToEnd``: the records of an open transaction are still to be read, and not sought over."""
    run = played("transaction_records = 50", "", (level,), fault=SEEK.format(to=to))
    sought = [
        event.what.offset
        for event in run.events
        if isinstance(event.what, EpochOpened) and event.what.source == "seek"
    ]

    assert sought
    assert is_boundary == all(offset % 51 == 0 for offset in sought)
    assert 0 == run.ledger.lost


CANARY = """
[[fault]]
rolling_restart = "g"
at = "{at}"
canary = 1
canary_lag = 20
canary_for = "3s"
"""


@pytest.mark.parametrize(("at", "gives_up"), [("15s", True), ("25s", False)])
def test_the_lag_of_a_canary_counts_no_aborted_record(at, gives_up):
    """The transaction that is open at 15 s commits its 100 records; that of 25 s is aborted."""
    topic = "transaction_records = 100\naborted_every = 3"
    run = played(topic, "", (COMMITTED, SHORT), fault=CANARY.format(at=at))
    verbs = [event.what.verb for event in run.events if isinstance(event.what, FaultBegan)]

    assert "restart" in verbs
    assert gives_up == ("give_up" in verbs)


def test_lag_of_offsets_stays_above_zero_behind_an_aborted_transaction():
    """Automatic commits reach the end; a poll without records is followed by no commit of the application."""

    def left(group):
        run = played("backlog = 120\n" + TOPIC, group, fault="")
        offsets = {}
        for event in run.events:
            if isinstance(event.what, CommitAccepted):
                offsets.update(event.what.offsets)
        return {480 - offset for offset in offsets.values()}

    assert {0} == left("")
    assert {SIZE + 1} == left(READERS["positions"][0])
    assert {SIZE + 2} == left(READERS["offsets"][0])


@pytest.mark.parametrize(
    ("topic", "group", "settings", "reason"),
    [
        ("aborted_every = 3", "", "", 'set "transaction_records"'),
        ("transaction_records = 3\naborted_every = 1", "", "", "2"),
        ("transaction_records = 3\naborted_evry = 2", "", "", 'did you mean "aborted_every"'),
        (TOPIC, 'member = [{ name = "g-1", client = "librdkafka" }]', "", "set it for the group"),
    ],
)
def test_what_cannot_be_is_refused(topic, group, settings, reason):
    """With what to write instead."""
    with pytest.raises(ScenarioError) as refused:
        played(topic, group, (settings,))

    assert reason in str(refused.value)
