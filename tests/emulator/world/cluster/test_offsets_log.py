"""Records of the offsets topic: what they are called, how large they are, that they are all."""

from __future__ import annotations

import pytest

from emulator.events import Appended, CommitAccepted, OffsetsDropped
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.cluster.offsets_log.appends import kind_of
from emulator.world.run import Replay
from protocols.coordinator.machine import GroupCoordinator
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    encode,
    size,
)
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.record import LogRecord
from protocols.settings import BrokerSettings

from ..stage import GROUP, TEXT, TOPIC


def test_a_record_is_called_by_its_key_and_whether_it_is_a_tombstone():
    """As the reports count them."""
    commit = Record(OffsetCommitKey("g", "t", 0), OffsetCommitValue(offset=1, commit_timestamp=0))

    assert "OffsetCommit" == kind_of(commit)
    assert "OffsetCommit tombstone" == kind_of(Record(commit.key, None))
    assert "GroupMetadata tombstone" == kind_of(Record(GroupMetadataKey("g"), None))


def test_the_size_of_a_commit_is_that_of_its_key_and_value():
    """Key: type, group, topic, partition; value of version 4, without a topic id."""
    key = OffsetCommitKey("group", "topic", 0)
    value = OffsetCommitValue(offset=1, commit_timestamp=0, metadata="abc")

    assert 2 + (2 + 5) + (2 + 5) + 4 == size(Record(key, None))
    assert size(Record(key, None)) + 2 + 8 + 4 + (1 + 3) + 8 + 1 == size(Record(key, value))


@pytest.mark.long
def test_committed_offsets_equal_a_replay_of_all_appends():
    """Law 3: only records change durable state."""
    faults = """
[[fault]]
crash = "g-1"
at = "8s"
restart_after = "4s"

[[fault]]
move_coordinator = "g"
at = "15s"

[[act]]
delete_topic = "u"
at = "25s"

[[topic]]
name = "u"
rate = "5/s"

[[group]]
id = "h"
topics = ["u", "t"]
members = 1
commit = "sync"
"""
    text = TEXT.format(
        run="", topic=TOPIC, group=GROUP, settings="", strategy="range", run_for="40s", more=faults
    )
    appended, events = [], []
    play(loads(text), 0, (events.append,), replay=Replay(appended=appended.extend))
    rebuilt = GroupCoordinator(BrokerSettings(), new_id=str, epoch_ms=0)
    rebuilt.replay(enumerate(appended))

    for group in ("g", "h"):
        found = {
            (topic, number): value.offset
            for topic, partitions in rebuilt.state.durable.topics_of(group).items()
            for number, value in partitions.items()
        }
        assert found
        assert committed_by_events(events, group) == found


def committed_by_events(events, group):
    """Return the offsets committed at the end by the events."""
    committed = {}
    for event in events:
        what = event.what
        if isinstance(what, CommitAccepted) and what.group == group:
            committed.update({tuple(tp): offset for tp, offset in what.offsets})
        elif isinstance(what, OffsetsDropped) and what.group == group:
            for tp in what.partitions:
                del committed[tuple(tp)]
    return committed


def test_every_append_is_emitted_with_its_offsets():
    """One event a batch, in the log's order, with the records counted by kind."""
    text = TEXT.format(
        run="", topic=TOPIC, group=GROUP, settings="", strategy="range", run_for="20s", more=""
    )
    batches, events = [], []
    play(loads(text), 0, (events.append,), replay=Replay(appended=batches.append))
    written = [event.what for event in events if isinstance(event.what, Appended)]
    following = 0
    for batch, what in zip(batches, written, strict=True):
        assert following == what.log_offset
        assert len(batch) == sum(count for _, count in what.records)
        stored = [LogRecord(n, 0, *encode(record)) for n, record in enumerate(batch)]
        assert len(encode_batch(stored)) == what.size
        following += len(batch)
