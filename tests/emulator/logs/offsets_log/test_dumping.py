"""Logs line by line: gaps in their places, batches out of order, what is asked for."""

from __future__ import annotations

from pathlib import Path

from emulator.logs.offsets_log.dumping import Line, LogDump, Wanted
from emulator.logs.offsets_log.faults import FaultKind, Tally
from emulator.logs.offsets_log.recognising import read_segment
from protocols.offsets_topic.records import GroupMetadataKey, Record, UnknownValue

from .segments import batch, commit, raw_batch, shown, written

ONE, TWO, THREE = batch(commit()), batch(commit(offset=6), at=1), batch(commit(offset=7), at=2)
SPOILED = TWO[:-1] + b"\xff"


def lines(path: Path, base_offset: int = 0, **wanted: bool) -> list[Line]:
    """Return what is shown and counted of a segment."""
    dump = LogDump(Wanted(**wanted))
    dump.begin(base_offset)
    return [line for part in read_segment(path) for line in dump.lines(part)]


def test_a_gap_is_shown_in_its_place(tmp_path):
    """With its kind, its bytes and the reason; the records behind it as ever."""
    first, gap, last = shown(written(tmp_path, ONE + SPOILED + THREE))

    assert (0, 2) == (first["offset"], last["offset"])
    assert ["gap", "position", "size", "reason"] == list(gap)
    assert ("bad checksum", len(ONE), len(TWO)) == tuple(gap.values())[:3]
    assert "where the header of offset 1 says" in gap["reason"]


def test_batches_out_of_order_are_marked(tmp_path):
    """No log has them; a flipped bit in an offset is seen by nothing else."""
    found = lines(written(tmp_path, ONE + THREE + TWO))
    (marked,) = [line for line in found if line.fault is not None]

    assert {
        "outOfOrder": 1,
        "position": len(ONE + THREE),
        "reason": "a batch begins at offset 1; expected 3 or higher",
    } == marked.content
    assert FaultKind.DISORDER is marked.fault.kind
    assert 4 == len(found)


def test_a_batch_below_its_files_name_is_out_of_order(tmp_path):
    """The name says the least offset in it; segments go on where those before ended."""
    path = written(tmp_path, ONE + TWO)

    assert [FaultKind.DISORDER] == [line.fault.kind for line in lines(path, 1) if line.fault]
    assert [] == [line.fault for line in lines(path) if line.fault]


def test_headers_of_batches_are_shown_when_asked_for(tmp_path):
    """Each before its records."""
    texts = [line.content for line in lines(written(tmp_path, ONE + TWO), batches=True)]

    assert [0, None, len(ONE), None] == [content.get("position") for content in texts]


def test_without_records_only_faults_are_left(tmp_path):
    """They are counted, and not shown."""
    unknown = Record(GroupMetadataKey("g"), UnknownValue(b"\0\x09"))
    data = ONE + SPOILED + batch(unknown, at=2) + raw_batch((b"\0", None), at=3)
    found = lines(written(tmp_path, data), records=False, states=True)

    assert [None] * len(found) == [line.content for line in found]
    assert [FaultKind.GAP, FaultKind.UNKNOWN, FaultKind.BAD_RECORD] == [
        line.fault.kind for line in found if line.fault is not None
    ]


def texts(*found: Line) -> list[str]:
    """Return the sentences about some lines."""
    tally = Tally()
    for line in found:
        if line.fault is not None:
            tally.add(line.fault, "a.log")
    return list(tally.sentences())


def test_faults_have_one_sentence_a_kind(tmp_path):
    """How many, the first of them, and its place."""
    data = ONE + SPOILED + raw_batch((b"\0", None), (b"\0", None), at=2) + TWO
    gap, order, records = texts(*lines(written(tmp_path, data)))

    assert gap.startswith(f"a.log: 1 gap, {len(TWO)} bytes, could not be read: checksum ")
    assert gap.endswith(f" (byte {len(ONE)})")
    assert records == (
        "a.log: 2 records could not be decoded: first offset 2, in the batch at byte "
        f"{len(ONE + TWO)}: key, byte 0, type: 2 bytes wanted, 1 left"
    )
    assert order.startswith("a.log: 1 batch out of order: a batch begins at offset 1")
    assert [] == texts(*lines(written(tmp_path, ONE)))
