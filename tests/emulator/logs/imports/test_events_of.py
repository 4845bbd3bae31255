"""A log's bytes as rows: every record has one, in its table, and what cannot be read has one too."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.logs.imports.group_rows import KINDS
from emulator.logs.imports.pieces import Selection
from emulator.logs.imports.rows import Events
from emulator.logs.imports.tables import COMMITS, OF_TRANSACTIONS
from emulator.logs.offsets_log.columns import CommitColumns
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    Record,
    decode_key,
    encode,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from protocols.offsets_topic.segments.compression import Compression
from protocols.offsets_topic.segments.reader import Gap, read_log

from .logs import ORIGIN, PRODUCER, batch, bytes_of, commit, marker, raw_batch, rows_in

REAL = (4, 11)


def epoch(group: str, number: int) -> Record:
    """Return the record that a group of the consumer protocol is at an epoch."""
    return Record(ConsumerGroupMetadataKey(group), ConsumerGroupMetadataValue(epoch=number))


@pytest.mark.parametrize("partition", REAL)
def test_commits_are_those_of_the_columnar_decoder(partition):
    """With their log partition before, and nothing to say of transactions."""
    data = bytes_of(partition)
    batches = [each.cast(pa.schema(list(COMMITS)[1:-1])) for each in CommitColumns(data)]

    rows = rows_in(data)["commits"]

    known = [row for each in batches for row in each.to_pylist()]
    assert [{"log_partition": 3, **row, "transaction": None} for row in known] == rows


@pytest.mark.parametrize("partition", REAL)
def test_every_other_record_of_a_real_log_is_a_row_of_groups(partition):
    """By its type and its place, none twice and none left out."""
    expected = []
    for part in read_log(bytes_of(partition)):
        assert not isinstance(part, Gap)
        for record in part.records:
            key = decode_key(record.key)
            if key.record_type > 1:
                place = (record.offset, record.timestamp, key[0], key.record_type)
                expected.append((*place, record.value is None))

    rows = rows_in(bytes_of(partition))

    columns = ("log_offset", "timestamp", "group", "record_type", "is_tombstone")
    assert expected == [tuple(row[name] for name in columns) for row in rows["groups"]]
    assert {KINDS[row["record_type"]] for row in rows["groups"]} == {
        row["kind"] for row in rows["groups"]
    }
    assert [] == rows["gaps"]


@pytest.mark.parametrize("codec", list(Compression))
def test_compressed_batches_are_read(codec):
    """With every codec that Kafka has."""
    data = batch(commit(offset=7), epoch("g", 4), attributes=codec)

    rows = rows_in(data)

    assert [7] == [row["offset"] for row in rows["commits"]]
    assert [4] == [row["epoch"] for row in rows["groups"]]


def test_spoilt_bytes_are_a_row_of_gaps():
    """Where they are, how many, and why; what is around them is read."""
    whole = [batch(commit(offset=n), at=n) for n in range(3)]
    spoilt = whole[1][:-1] + bytes([whole[1][-1] ^ 1])

    rows = rows_in(whole[0] + spoilt + whole[2])

    (gap,) = rows["gaps"]
    assert [0, 2] == [row["offset"] for row in rows["commits"]]
    assert (3, "a.log", len(whole[0]), len(spoilt)) == (
        *(gap["log_partition"], gap["source"]),
        *(gap["position"], gap["length"]),
    )
    assert "checksum" in gap["reason"]


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ((None, b""), "the record has no key"),
        ((b"\0\x63\0\1g", b""), "a record of type 99, unknown to Kafka 4.4.0"),
        ((encode(epoch("g", 1))[0], b"\0\x63"), "version 99 of ConsumerGroupMetadata, unknown"),
        ((encode(epoch("g", 1))[0], b"\0\0"), "value"),
        ((encode(commit())[0], b"\0\x63"), "99"),
    ],
    ids=["no key", "unknown type", "unknown version", "cut off", "unknown commit"],
)
def test_a_record_that_cannot_be_read_is_a_row_of_gaps(pair, reason):
    """By its log offset; its neighbours are read."""
    rows = rows_in(raw_batch(encode(commit()), pair, encode(epoch("g", 2))))

    (gap,) = rows["gaps"]
    assert gap["reason"].startswith("the record of log offset 1: ")
    assert reason in gap["reason"]
    assert (1, 0) == (gap["position"], gap["length"])
    assert [1, 1] == [len(rows[table]) for table in ("commits", "groups")]


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 40_000), st.binary(max_size=9)), max_size=4))
def test_no_bytes_raise_an_error(places):
    """Whatever is overwritten in a real log: rows are of what there was, and gaps of the rest."""
    whole = bytes_of(4)
    spoilt = bytearray(whole)
    for at, data in places:
        spoilt[at : at + len(data)] = data

    rows, known = rows_in(bytes(spoilt)), rows_in(whole)

    for table in ("commits", "groups"):
        if not rows["gaps"]:
            assert [row["log_offset"] for row in known[table]] == [
                row["log_offset"] for row in rows[table]
            ]
    assert all(row["reason"] and row["length"] >= 0 for row in rows["gaps"])


def test_no_bytes_are_no_rows():
    """An empty log is no fault."""
    assert [] == [row for rows in rows_in(b"").values() for row in rows]


def test_commits_of_transactions_are_set_apart_with_their_markers():
    """Their outcome is known when all segments have been read."""
    data = (
        batch(commit(offset=1))
        + batch(commit(offset=2), at=1, producer=PRODUCER)
        + marker(2, is_committed=False)
    )

    rows = rows_in(data)

    assert [1] == [row["offset"] for row in rows["commits"]]
    assert [2] == [row["offset"] for row in rows[OF_TRANSACTIONS]]
    assert [{"log_offset": 2, "producer_id": PRODUCER.id, "is_committed": False}] == rows["markers"]


def test_groups_and_times_can_be_chosen():
    """By a pattern, and by the records' times; gaps stay."""
    records = [commit(group) for group in ("billing-1", "billing-2", "audit")]
    records += [epoch("billing-1", 1), epoch("audit", 2), commit("billing-1")]
    data = batch(*records) + b"spoilt"

    rows = rows_in(data, Selection(("billing-*",), begin_ms=1_001, end_ms=1_005))

    assert ["billing-2"] == [row["group"] for row in rows["commits"]]
    assert [1] == [row["epoch"] for row in rows["groups"]]
    assert 1 == len(rows["gaps"])


def test_events_know_what_went_through_them():
    """Groups, times and numbers, also of what was chosen only."""
    events = Events(ORIGIN, Selection(("a", "b")))

    list(events.of_bytes(batch(commit("a"), epoch("b", 1), commit("c"), commit("a"))))

    assert ({"a", "b"}, 2) == (events.group_names, events.commits)
    assert (1_000, 1_003) == events.collected.times_ms


def test_large_records_do_not_pile_up():
    """Rows are taken away before many megabytes of groups have come together."""
    member = GroupMetadataValue(
        protocol_type="x" * 30_000, generation=1, protocol=None, leader=None, value_version=3
    )
    data = b"".join(batch(Record(GroupMetadataKey("g"), member), at=n) for n in range(1_500))

    taken = [rows.num_rows for _, rows in Events(ORIGIN, Selection()).of_bytes(data)]

    assert 1_500 == sum(taken)
    assert max(taken) < 400
