"""Topic partitions whose new leader lacks records: which are lost, and how consumers detect it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    Processed,
    ReadOn,
    RecordsTruncated,
)
from emulator.scenario.model import Topic
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.replicas import WHOLE, Truncation
from emulator.world.cluster.topics import Topics
from protocols.messages import EpochStart

from ..stage import SECOND, Seen

TP = TopicPartition("t", 0)
REPLICATION = 10_000

# -- what is left of a log -----------------------------------------------------------------------

runs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda run: (run[0], run[0] + run[1])),
    max_size=6,
)


@given(runs)
def test_offsets_count_what_is_left(taken):
    """Whatever runs are taken out, in whatever order, also where they touch or overlap."""
    history = WHOLE
    for run in taken:
        history = history.without(*run)
    gone = {serial for run in taken for serial in range(*run)}
    left = [serial for serial in range(100) if serial not in gone]

    assert left == [history.serial(offset) for offset in range(len(left))]
    assert all(
        sum(other < serial for other in left) == history.offset(serial) for serial in range(100)
    )
    assert all(
        one[1] < other[0] for one, other in zip(history.removed, history.removed[1:], strict=False)
    )


# -- a partition that is led anew ----------------------------------------------------------------


def log_of(**topic) -> PartitionLog:
    topics = Topics(0, 3, 3, lambda _: REPLICATION, ())
    return topics.create(Topic(name="t", rate=10.0, **topic), 0).partitions[0]


def lost(log: PartitionLog, complete_s: float, at_s: float) -> Truncation | None:
    """Let a replica lead that has everything up to one time, from another time on."""
    at_us = round(at_s * SECOND)
    cut = log.on_new_leader(round(complete_s * SECOND), at_us, at_us, clean=False)
    log.replicas.elect(2, at_us, clean=False)
    return cut


def test_safe_records_that_the_new_leader_lacks_are_truncated():
    """The next record takes the first truncated offset."""
    log = log_of()

    assert Truncation(51, 101, 1) == lost(log, 5.05, 10.05)
    assert [51, 51, 52, 100] == [log.end(round(at * SECOND)) for at in (5.05, 10.05, 10.1, 14.9)]
    assert round(10.1 * SECOND) == log.appended_at(51)
    assert (EpochStart(0, 0), EpochStart(1, 51)) == log.epochs
    assert 1 == log.incarnation


def test_unacknowledged_records_are_sent_again():
    """The high watermark stopped when the leader died: the new leader begins with later records."""
    log = log_of()
    log.stall(10 * SECOND)

    assert Truncation(51, 100, 1) == lost(log, 5.05, 15.05)
    assert 51 + 51 == log.end(round(15.05 * SECOND))
    assert EpochStart(1, 51) == log.epochs[-1]


@pytest.mark.parametrize("clean", [True, False])
def test_a_leader_that_has_all_that_is_safe_loses_nothing(clean):
    """Clean elections never do, and an unclean one need not."""
    log = log_of()
    complete = 5 * SECOND if clean else 10 * SECOND

    assert None is log.on_new_leader(complete, 10 * SECOND, 10 * SECOND, clean=clean)
    assert (0, 101) == (log.incarnation, log.end(10 * SECOND))


def test_records_acknowledged_by_the_leader_alone_are_lost_with_it():
    """``acks=1``: up to when it ran, with any successor; later records are sent again."""
    log = log_of(acks="1")
    log.stall(6 * SECOND)
    ran_until, at_us = 10 * SECOND + 1, 15 * SECOND + 1
    cut = log.on_new_leader(round(7.05 * SECOND), ran_until, at_us, clean=True)
    log.replicas.elect(2, at_us, clean=True)

    assert Truncation(71, 101, 1) == cut
    assert log.appended(at_us) - (101 - 71) == log.end(at_us)


def test_a_new_leader_with_all_acknowledged_records_loses_nothing():
    """The old leader that comes back, for one."""
    log = log_of(acks="1")

    assert None is log.on_new_leader(10 * SECOND, 10 * SECOND, 15 * SECOND, clean=True)


def test_a_second_truncation_may_reach_further_back_than_the_first():
    """Epochs that have no record left are forgotten; each record has one incarnation."""
    log = log_of()
    lost(log, 5.05, 10.05)

    assert Truncation(31, 61, 2) == lost(log, 3.05, 11.05)
    assert (EpochStart(0, 0), EpochStart(2, 31)) == log.epochs
    assert [0, 1, 2, 2] == [log.incarnation_of(epoch) for epoch in range(4)]


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 3_000)), max_size=3),
    st.lists(st.integers(0, 12_000), min_size=1, max_size=8),
)
def test_a_truncated_log_shows_each_record_when_its_high_watermark_passes(elections, instants):
    """``visible_us`` and ``high_watermark`` stay each other's inverse."""
    log, now = log_of(backlog=7), 0
    for back, later in elections:
        now += later * 1_000
        lost(log, (now - back * 1_000) / SECOND, now / SECOND)
    for instant in instants:
        at = now + instant * 1_000
        shown = log.high_watermark(at)

        assert log.visible_us(shown) > at
        assert shown == 0 or log.visible_us(shown - 1) <= max(at, now + REPLICATION)
        assert shown <= log.end(at)


def test_a_leader_out_of_touch_shows_the_log_that_is_gone():
    """It has not heard of its successor, and its readers have not either."""
    topics = Topics(0, 3, 3, lambda _: REPLICATION, ())
    log = topics.create(Topic(name="t", rate=10.0), 0).partitions[0]
    at_us = round(10.05 * SECOND)
    log.on_new_leader(round(5.05 * SECOND), at_us, at_us, clean=False)
    log.replicas.freeze_beliefs([1], at_us)
    log.replicas.elect(2, at_us, clean=False)
    stale = topics.shown_by(1, TP)
    late = 20 * SECOND

    assert (101, 101, 150) == (stale.end(late), stale.high_watermark(late), log.end(late) - 1)
    assert (EpochStart(0, 0),) == stale.epochs
    assert log.visible_us(60) != stale.visible_us(60) < at_us
    assert NEVER == stale.visible_us(101)


# -- consumers -----------------------------------------------------------------------------------

TEXT = """
title = "truncated"
run_for = "70s"

[cluster]
settings = {{ "unclean.leader.election.enable" = true, "replica.lag.time.max.ms" = "4s" }}

[[topic]]
name = "t"
replicas = 2
leaders = [1]
rate = "10/s"
record_size = "{size}"

[[group]]
id = "g"
coordinator = 3
topics = ["t"]
member = [{{ name = "g-0" }}, {{ name = "g-1", start = "by act", settings = {strict} }}]
work = "{work}"
commit = {commit}
settings = {{ "auto.offset.reset" = "earliest", "max.poll.records" = 50 }}

[[fault]]
cut = ["broker-1", "broker-2"]
at = "10s"
for = "50s"

[[fault]]
crash_broker = "broker-1"
at = "30s"
{more}
"""
RESTART = '[[act]]\nclose = "g-0"\nat = "29s"\nrestart_after = "6s"'
SUCCESSOR = '[[act]]\nclose = "g-0"\nat = "19s"\n[[act]]\nstart = "g-1"\nat = "20s"'
LATE_RESTART = '[[act]]\nclose = "g-0"\nat = "29s"\nrestart_after = "{}"'


def staged(commit='"auto"', more="", work="2ms", size="1KiB") -> Seen:
    strict = '{ "auto.offset.reset" = "none" }'
    text = TEXT.format(commit=commit, more=more, work=work, strict=strict, size=size)
    return Seen(emulator.run(emulator.loads(text), 0))


def opened(seen: Seen) -> list[tuple[int, str, str]]:
    return [(e.what.offset, e.what.source, e.what.why) for e in seen.all(EpochOpened)]


def test_a_position_with_an_epoch_is_moved_back_to_where_the_log_was_cut():
    """The leader says so (OffsetsForLeaderEpoch), and nothing is repeated or skipped."""
    seen = staged()
    cut = seen.only(RecordsTruncated)

    assert (100, 300, 1) == (cut.what.first, cut.what.next_offset, cut.what.incarnation)
    assert [(0, "earliest", "no offset"), (100, "truncated", "")] == opened(seen)
    assert {} == seen.run.ledger.by_cause()


def test_without_a_policy_the_consumer_dies_of_it():
    """LogTruncationException is for the application to handle."""
    seen = staged(more=SUCCESSOR)
    (stopped,) = seen.all(ConsumerStopped, how="failed")

    assert "LogTruncationException" == stopped.what.reason.partition(" ")[0]
    assert () == seen.run.ledger.entries


@pytest.mark.parametrize(
    ("commit", "start"),
    [
        ('"auto"', (100, "truncated", "")),
        ('{ call = "sync", leader_epoch = true }', (100, "truncated", "")),
        ('{ call = "sync", arguments = false }', (100, "truncated", "")),
        ('"sync"', (0, "earliest", "out of range")),
    ],
)
def test_a_committed_offset_is_checked_if_its_epoch_was_committed_too(commit, start):
    """Automatic commits, and those without offsets, carry it; the application's by its policy."""
    assert [(290, "committed", ""), start] == opened(staged(commit, more=RESTART))[1:]


def test_a_commit_in_the_listener_replaces_an_epoch_by_none():
    """A member that closes commits by itself, then in its listener (KAFKA-20507)."""
    with_epoch = '{ call = "auto", on_revoke = true, leader_epoch = true }'
    without = '{ call = "auto", on_revoke = true }'

    assert "truncated" == opened(staged(with_epoch, more=RESTART))[-1][1]
    assert "earliest" == opened(staged(without, more=RESTART))[-1][1]


def test_an_offset_that_the_log_has_reached_again_is_believed_without_an_epoch():
    """Records that came before it meanwhile are lost."""
    seen = staged('"sync"', more=LATE_RESTART.format("25s"))

    assert [(290, "committed", "")] == opened(seen)[1:]
    assert {"truncated after an unclean election": 190} == seen.run.ledger.by_cause()


def test_a_consumer_that_lags_reads_on_into_the_new_log():
    """Its position lies on what is left: it is confirmed, and no epoch begins."""
    seen = staged(work="500ms", size="100KiB")
    cut, on = seen.only(RecordsTruncated), seen.only(ReadOn)

    assert (100, 1) == (on.what.offset, on.what.incarnation)
    assert cut.at_us < on.at_us
    assert 1 == len(seen.all(EpochOpened))
    assert 200 == seen.run.ledger.truncated


def test_a_consumer_finishes_its_fetched_records():
    """Then its position is moved back, into other records with the same offsets."""
    seen = staged(work="98ms")
    cut = seen.only(RecordsTruncated).what
    (back,) = seen.all(EpochOpened, source="truncated")
    ledger = seen.run.ledger

    assert back.what.offset == cut.first
    assert seen.first(EpochClosed, why="reopened").what.processed > cut.first
    assert ledger.processed == ledger.distinct
    assert all(e.what.next_offset > e.what.first for e in seen.all(Processed))
