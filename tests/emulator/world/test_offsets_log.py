"""One offsets partition: appends, what is durable, what a load reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.events import Appended, CommitAccepted, OffsetsDropped
from emulator.scenario.load import loads
from emulator.world.build import Replay, play
from emulator.world.cluster.offsets_log import OffsetsLog, kind_of, size_of
from emulator.world.kernel import Kernel, Rank
from protocols.classic.coordinator import GroupCoordinator
from protocols.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.settings import BrokerSettings

from .stage import GROUP, TEXT, TOPIC

TRIP = 10

records = st.builds(
    lambda partition, offset: Record(
        OffsetCommitKey("g", "t", partition),
        None if offset is None else OffsetCommitValue(offset=offset, commit_timestamp=0),
    ),
    st.integers(0, 3),
    st.none() | st.integers(0, 9),
)
acts = st.one_of(
    st.lists(records, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["stop", "go on"]),
)
plans = st.lists(st.tuples(st.integers(0, 60), acts), max_size=15)


class Written:
    """A log to which things happen at planned times, and what it said."""

    def __init__(self, plan, trip_us=lambda _: TRIP):
        self.kernel = Kernel()
        self.told = []
        self.firsts = []
        self.log = OffsetsLog(self.kernel, 0, trip_us, self._durable)
        for when, act in sorted(plan, key=lambda entry: entry[0]):
            self.kernel.at(when, Rank.AT_BROKER, 0, lambda _, act=act: self._do(act))
        self.kernel.run(1_000)

    def _durable(self, log_offset):
        self.told.append((self.kernel.now, log_offset))

    def _do(self, act):
        match act:
            case "stop":
                self.log.stop()
            case "go on":
                self.log.go_on()
            case _:
                self.firsts.append((self.kernel.now, self.log.append(act), len(act)))


@given(plans)
def test_log_offsets_count_records_in_order_of_appending(plan):
    """A batch takes as many as it has records, without holes."""
    written = Written(plan)
    following = 0
    for _, first, length in written.firsts:
        assert following == first
        following += length

    assert following == written.log.end


@given(plans)
def test_a_load_reads_the_newest_record_of_every_key(plan):
    """By log offset; a key whose newest record is a tombstone is gone."""
    newest, end = {}, 0
    for _, act in sorted(plan, key=lambda entry: entry[0]):
        for record in act if isinstance(act, tuple) else ():
            newest[record.key] = (end, record)
            end += 1
    expected = sorted((e for e in newest.values() if e[1].value is not None), key=lambda e: e[0])

    assert expected == Written(plan).log.read()


@given(plans)
def test_what_is_durable_only_ever_grows_and_is_told_once(plan):
    """Never more than was appended a replication ago."""
    written = Written(plan)
    offsets = [offset for _, offset in written.told]

    assert sorted(set(offsets)) == offsets
    for when, offset in written.told:
        fetched = [first + n for at, first, n in written.firsts if at + TRIP <= when]
        assert offset in fetched


@given(plans)
def test_once_it_runs_again_everything_becomes_durable(plan):
    """A stop holds back, it loses nothing."""
    written = Written([*plan, (500, "go on")])

    assert written.log.end == written.log.high_watermark


def test_while_a_replica_is_missing_nothing_becomes_durable():
    """What the others have fetched meanwhile becomes durable at once when it is back."""
    one = (
        Record(
            GroupMetadataKey("g"),
            GroupMetadataValue(protocol_type="", generation=1, protocol=None, leader=None),
        ),
    )
    written = Written([(0, one), (5, "stop"), (20, one), (25, one), (40, "go on")])

    assert [(40, 3)] == written.told


def test_a_later_batch_that_is_replicated_first_covers_the_earlier_one():
    """Followers fetch in order, so the slow batch was there as well."""
    one = (Record(OffsetCommitKey("g", "t", 0), None),)
    written = Written([(0, one), (5, one)], trip_us=lambda first: 100 if first == 0 else 10)

    assert [(15, 2)] == written.told


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

    assert 2 + (2 + 5) + (2 + 5) + 4 == size_of(Record(key, None))
    assert size_of(Record(key, None)) + 2 + 8 + 4 + (1 + 3) + 8 + 1 == size_of(Record(key, value))


def test_what_is_committed_is_what_replay_of_all_appends_gives():
    """Law 3: nothing but records changes durable state, whatever happened on the way."""
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
    for log_offset, record in enumerate(appended):
        rebuilt.replay(record, log_offset)

    for group in ("g", "h"):
        found = {
            (topic, number): value.offset
            for topic, partitions in rebuilt.state.durable.topics_of(group).items()
            for number, value in partitions.items()
        }
        assert found
        assert told_to_be_committed(events, group) == found


def told_to_be_committed(events, group):
    """Return what the events say is committed at the end."""
    committed = {}
    for event in events:
        what = event.what
        if isinstance(what, CommitAccepted) and what.group == group:
            committed.update({tuple(tp): offset for tp, offset in what.offsets})
        elif isinstance(what, OffsetsDropped) and what.group == group:
            for tp in what.partitions:
                del committed[tuple(tp)]
    return committed


def test_every_append_is_told_with_the_offsets_it_took():
    """One event a batch, in the log's order, with the records counted by kind."""
    text = TEXT.format(
        run="", topic=TOPIC, group=GROUP, settings="", strategy="range", run_for="20s", more=""
    )
    batches, events = [], []
    play(loads(text), 0, (events.append,), replay=Replay(appended=batches.append))
    told = [event.what for event in events if isinstance(event.what, Appended)]
    following = 0
    for batch, what in zip(batches, told, strict=True):
        assert following == what.log_offset
        assert len(batch) == sum(count for _, count in what.records)
        assert sum(map(size_of, batch)) == what.size
        following += len(batch)
