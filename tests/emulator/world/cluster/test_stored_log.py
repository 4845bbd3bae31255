"""The log on the disks: appends, loads, forks, and where two histories diverge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.world.cluster.offsets_log.stored_log import NOTHING, Amount, StoredLog
from protocols.offsets_topic.records import (
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    encode,
    encode_key,
    encode_value,
    expiring,
)
from protocols.offsets_topic.records.codec import sizes_of
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.record import LogRecord


def record(partition=0, offset=1):
    key = OffsetCommitKey("g", "t", partition)
    value = None if offset is None else OffsetCommitValue(offset=offset, commit_timestamp=0)
    return Record(key, value)


records = st.builds(record, st.integers(0, 3), st.none() | st.integers(0, 9))
batches = st.lists(st.lists(records, min_size=1, max_size=3).map(tuple), max_size=12)
epochs = st.lists(st.integers(0, 2), max_size=12)


def written(plan, steps=(), backlog=NOTHING):
    """Append batches; before each the leader epoch rises by a step."""
    log, epoch = StoredLog(backlog), 0
    for number, batch in enumerate(plan):
        epoch += steps[number] if number < len(steps) else 0
        log.append(batch, epoch, 0)
    return log


def bytes_of(batch):
    """Return a batch as it is written."""
    return encode_batch([LogRecord(n, 0, *encode(each)) for n, each in enumerate(batch)])


def newest(plan, end=None):
    """Return what is left of everything below *end*: the newest record of every key."""
    left = {}
    for log_offset, one in enumerate(each for batch in plan for each in batch):
        if end is None or log_offset < end:
            left[one.key] = (log_offset, one)
    return sorted(entry for entry in left.values() if entry[1].value is not None)


def applied(entries):
    """Return what replay of these entries leaves."""
    left = {}
    for log_offset, one in entries:
        left[one.key] = (log_offset, one)
    return sorted(entry for entry in left.values() if entry[1].value is not None)


@given(batches)
def test_log_offsets_count_records_in_order_of_appending(plan):
    """A batch takes as many as it has records, without holes."""
    log, following = StoredLog(), 0
    for batch in plan:
        appended = log.append(batch, 0, 0)
        assert (following, following + len(batch)) == (appended.first, appended.end)
        following = appended.end

    assert following == log.end


@given(batches, st.integers(0, 40))
def test_a_load_leaves_the_newest_record_of_every_key(plan, settled):
    """For any compacted part of the log; a key whose newest record is a tombstone is gone."""
    log = written(plan)
    log.settle(settled)

    assert newest(plan) == applied(log.read(log.end))
    offsets = [log_offset for log_offset, _ in log.read(log.end)]
    assert sorted(set(offsets)) == offsets


@given(batches, st.data())
def test_a_fork_has_earlier_records_only(plan, data):
    """The log does not have the records of the fork either."""
    log = written(plan)
    ends = [0, *(sum(map(len, plan[: n + 1])) for n in range(len(plan)))]
    end = data.draw(st.sampled_from(ends))
    log.settle(data.draw(st.sampled_from([e for e in ends if e <= end])))
    fork = log.fork(end)
    log.append((record(0, 77),), 0, 0)
    fork.append((record(1, 88),), 1, 0)

    assert end + 1 == fork.end
    assert applied([*newest(plan, end), (end, record(1, 88))]) == applied(fork.read(fork.end))
    assert applied([*newest(plan), (log.end - 1, record(0, 77))]) == applied(log.read(log.end))


@given(batches, st.integers(0, 10**6), st.integers(0, 100))
def test_a_load_reads_every_byte_of_every_batch(plan, size, count):
    """As they are written, headers and all; what lay there before the run counts, too."""
    log = written(plan, backlog=Amount(size, count))
    log.settle(log.end)
    all_of_it = sum(len(bytes_of(batch)) for batch in plan)

    expected = Amount(size + all_of_it, count + sum(map(len, plan)))
    assert expected == log.amount(log.end)


@given(batches)
def test_a_load_of_less_than_the_log_reads_less(plan):
    """A replica that does not have the last batches does not read them."""
    log = written([*plan, (record(), record(1))])

    before = written(plan)
    assert before.amount(before.end) == log.amount(before.end)


@given(batches, epochs, st.data())
def test_two_logs_agree_up_to_where_they_parted(plan, steps, data):
    """By their leader epochs alone, with any number of records and epochs after that."""
    log = written(plan, steps)
    ends = [0, *(sum(map(len, plan[: n + 1])) for n in range(len(plan)))]
    parted = data.draw(st.sampled_from(ends))
    fork = log.fork(parted)
    for batch in data.draw(batches):
        fork.append(batch, 100, 0)

    assert parted == log.agreed_end(log.end, fork, fork.end)
    assert parted == fork.agreed_end(fork.end, log, log.end)
    for shorter in ends:
        assert min(parted, shorter) == log.agreed_end(shorter, fork, fork.end)


@pytest.mark.parametrize("backlog", [0, 7])
def test_logs_that_nothing_was_written_to_agree(backlog):
    """Up to the end of what lay there before the run."""
    log = StoredLog(Amount(70, backlog))

    assert backlog == log.agreed_end(log.end, log.fork(log.end), log.end)


def test_leaders_that_wrote_nothing_leave_no_trace():
    """A leader epoch without records looks like none."""
    one, other = written([(record(),)]), written([(record(),)])
    one.append((record(),), 3, 0)

    assert 1 == one.agreed_end(one.end, other, other.end)


@pytest.mark.parametrize(
    "value",
    [
        OffsetCommitValue(offset=5, commit_timestamp=7),
        OffsetCommitValue(offset=5, commit_timestamp=7, metadata="é\U0001f600"),
        OffsetCommitValue(offset=5, commit_timestamp=7, topic_id="MqLAo9DuQMWcW0M5zgcNyw"),
        OffsetCommitValue(offset=5, commit_timestamp=7, metadata="x" * 300, value_version=3),
        expiring(OffsetCommitValue(offset=5, commit_timestamp=7), 9),
        OffsetCommitValue(offset=5, commit_timestamp=7, trailing=b"123"),
    ],
)
def test_the_size_of_a_commit_is_that_of_its_bytes(value):
    """It is known without encoding the value."""
    key = OffsetCommitKey("g", "t", 0)

    assert (len(encode_key(key)), len(encode_value(1, value))) == sizes_of(Record(key, value))


def test_the_compacted_part_can_only_be_read_as_a_whole():
    """Older records below it are discarded; refused under ``python -O``, too."""
    log = written([(record(0, 1),), (record(0, 2),)])
    log.settle(2)

    for call in (log.fork, lambda end: list(log.read(end))):
        with pytest.raises(ValueError, match="older records are discarded up to 2"):
            call(1)
    with pytest.raises(ValueError, match="without a spool"):
        list(log.content(2))
