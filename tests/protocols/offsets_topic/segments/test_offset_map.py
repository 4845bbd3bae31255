"""The newest log offset of each key."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.offset_map import (
    OffsetMap,
    _Mapping,
    build_offset_map,
    max_entries,
)
from protocols.offsets_topic.segments.segment import LogToClean, Segment
from protocols.offsets_topic.segments.transactions import AbortedTransaction

from .drawn import commits
from .test_transactions import ABORT, COMMIT, ended, sent

BATCHES = {
    0: [commits(["a", "b"], 0), commits(["a"], 2)],
    3: [commits(["-b", "c"], 3), commits(["a", "d"], 5)],
    7: [commits(["e"], 7)],
}
LOG = [Segment(0, 3, 9), Segment(3, 7, 9), Segment(7, 8, 9)]


def mapped(
    start: int, stop: int, entries: int = 100, batches=BATCHES, log=LOG, aborted=()
) -> OffsetMap:
    to_clean = LogToClean(start, stop, 0, 1, 0, 0.5)
    return build_offset_map(log, lambda each: batches[each.base_offset], to_clean, aborted, entries)


def test_each_key_has_its_newest_offset():
    """A tombstone is as new as anything; the uncleanable part is not looked at."""
    found = mapped(0, 7)

    assert {b"a": 5, b"b": 3, b"c": 4, b"d": 6} == found.newest
    assert ([3, 4, 5, 6], 0, 7) == (found.survivors, found.start_offset, found.end_offset)


def test_the_clean_part_is_not_mapped():
    """Neither a segment of it, nor records of a segment that is clean to its middle."""
    assert {b"b": 3, b"c": 4, b"a": 5, b"d": 6} == mapped(3, 7).newest
    assert {b"c": 4, b"a": 5, b"d": 6} == mapped(4, 7).newest
    assert {b"a": 5, b"d": 6} == mapped(5, 7).newest


@pytest.mark.parametrize(
    ("entries", "newest", "end"),
    [
        (4, {b"a": 5, b"b": 3, b"c": 4, b"d": 6}, 7),
        (3, {b"a": 2, b"b": 3, b"c": 4}, 5),
        (2, {b"a": 0, b"b": 1}, 2),
        (1, {b"a": 0}, 1),
    ],
)
def test_a_full_map_ends_the_pass_early(entries, newest, end):
    """At the next record, even one of a key that is in it."""
    found = mapped(0, 7, entries)

    assert (newest, end) == (found.newest, found.end_offset)


def test_a_map_that_is_full_at_the_end_is_complete():
    """Up to the uncleanable part, offsets that nothing is at included."""
    assert 7 == mapped(0, 7, 4).end_offset
    assert 9 == mapped(0, 9, 9, batches={**BATCHES, 7: []}).end_offset


def test_aborted_data_and_markers_are_not_mapped():
    """A value that never counted supersedes nothing."""
    log = [Segment(0, 6, 9), Segment(6, 6)]
    batches = {
        0: [
            commits(["a", "b"], 0),
            sent(["a"], 2, 7),
            sent(["b"], 3, 8),
            ended(ABORT, 4, 7),
            ended(COMMIT, 5, 8),
        ]
    }
    found = mapped(0, 6, batches=batches, log=log, aborted=[AbortedTransaction(7, 2, 4)])

    assert {b"a": 0, b"b": 3} == found.newest


def test_an_abort_before_the_dirty_part_concerns_nothing_in_it():
    """The same producer's next transaction may be good."""
    log = [Segment(0, 4, 9), Segment(4, 4)]
    batches = {0: [sent(["a"], 0, 7), ended(ABORT, 1, 7), sent(["a"], 2, 7), ended(COMMIT, 3, 7)]}
    found = mapped(2, 4, batches=batches, log=log, aborted=[AbortedTransaction(7, 0, 1)])

    assert {b"a": 2} == found.newest


@pytest.mark.parametrize(
    ("batch", "survivors", "tombstones"),
    [
        (commits(["x", "y"], 0), 0, False),
        (commits(["x", "y"], 2), 1, True),
        (commits(["x", "y"], 4), 2, False),
        (commits(["x", "y"], 5), 2, False),
        (commits(["x", "y"], 6), None, False),
        (commits(["x"], 7), None, False),
    ],
)
def test_remaining_records_of_a_batch_are_known_without_reading_it(
    batch: Batch, survivors, tombstones
):
    """Only if all of it was mapped."""
    assert survivors == mapped(0, 7).survivors_of(batch.header)
    assert None is mapped(3, 7).survivors_of(commits(["x"], 2).header)
    assert tombstones == mapped(0, 7).has_tombstones_of(batch.header)


def test_superseded_tombstones_do_not_pile_up():
    """The map is as large as it has keys, however often these are deleted and come back."""
    rounds = [commits(["-a", "a", "-b"], at) for at in range(0, 30_000, 3)]
    mapping = _Mapping(0, 100)
    most = 0
    for batch in rounds:
        mapping.add(batch)
        most = max(most, len(mapping._tombstones))
    found = mapping.map(30_000)

    assert most < 5_000
    assert ({b"a": 29_998, b"b": 29_999}, [29_999]) == (found.newest, found.tombstones)


@pytest.mark.parametrize(
    ("settings", "entries"),
    [
        ((), 5_033_164),
        ((134_217_728, 2), 2_516_581),
        ((24_000, 1, 0.5), 500),
        ((2**40,), 80_530_636),
    ],
)
def test_a_map_holds_as_many_keys_as_kafkas(settings: Sequence, entries):
    """128 MiB shared by the threads, 24 bytes a key, nine tenths full, never over 2 GiB."""
    assert entries == max_entries(*settings)
