"""Kafka's own dump of an offsets log is read and outlined."""

import gzip
import json
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import read_capture
from emulator.conformance.captured.offsets_dump import dump_of, entries, read_dump
from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.offsets_log import (
    CURRENT,
    MEMBER,
    METADATA,
    Commit,
    EpochRecord,
    Group,
    outline,
)

from .conftest import CAPTURES

DUMPS_AT_HAND = sorted(Path(CAPTURES).glob("offsets-log/*.dump.txt.gz")) if CAPTURES else ()
GROUP = "crash-range-auto-1-hrkn4"
LINE = (
    '| offset: 3 CreateTime: 5 keySize: 1 valueSize: 1 sequence: 0 headerKeys: [] key: {"type":"1",'
    '"data":{"group":"g","topic":"t","partition":1}} payload: {"version":"4","data":{"offset":9}}'
)


def written(path, *lines):
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    return path


def test_a_dump_is_found_where_the_index_names_the_group(kept):
    """The folder beside the scenarios says which groups it holds."""
    run = kept / "crash-range-auto/run-1"

    assert kept / f"offsets-log/{GROUP}.dump.txt.gz" == dump_of(run, GROUP)
    assert dump_of(run, "another") is None
    assert dump_of(kept, GROUP) is None


def test_a_dump_in_the_folder_of_the_run_comes_first(tmp_path):
    """``rebalance capture`` writes it there."""
    assert dump_of(tmp_path, "g") is None
    own = tmp_path / "offsets-log.dump.txt.gz"
    own.touch()
    assert own == dump_of(tmp_path, "g")


@pytest.mark.parametrize("group", ["../secret", "/etc/secret", "a/b", "a\0b"])
def test_a_group_is_no_path(tmp_path, group):
    """A capture names its group."""
    (tmp_path / "offsets-log").mkdir()
    (tmp_path / "offsets-log" / "index.json").write_text(json.dumps([{"group": group}]))

    with pytest.raises(CaptureError, match="is not the name of a file in this folder"):
        dump_of(tmp_path / "crash" / "run-1", group)


def test_all_records_of_a_dump_are_read(kept):
    """Types, keys and tombstones come back in the order of the log."""
    records = read_dump(kept / f"offsets-log/{GROUP}.dump.txt.gz")

    assert len(records) == 44
    assert [record.generation for record in records if record.generation >= 0] == [0, 1, 2, 3]
    assert {"OffsetCommit", "GroupMetadata"} == {record.kind for record in records}
    assert sum(record.gone for record in records) == 7
    assert {client: list(records[20].owners.values()).count(client) for client in ("m2", "m3")} == {
        "m2": 3,
        "m3": 3,
    }


def test_the_outline_of_a_crash(kept):
    """Between group records stand the different commit requests, their keys as Kafka wrote them."""
    run = read_capture(kept / "crash-range-auto/run-1")
    records = read_dump(kept / f"offsets-log/{GROUP}.dump.txt.gz")
    until_ms = (run.origin + run.end_us) // 1000

    expected = [
        "GroupMetadata, generation 0",
        "GroupMetadata, generation 1",
        "OffsetCommit t0-1, t0-0",
        "OffsetCommit t0-2, t0-3",
        "OffsetCommit t0-4, t0-5",
        "GroupMetadata, generation 2",
        "OffsetCommit t0-2, t0-1, t0-0",
        "OffsetCommit t0-4, t0-3, t0-5",
    ]
    assert expected == outline(entries(records, GROUP, until_ms), run.prefix)


def test_requests_end_where_the_owner_changes_or_a_partition_comes_again():
    """The dump has distinct requests, but not how often and in what order members committed."""
    owners = {"a-0": "m1", "a-1": "m1", "b-0": "m2"}
    log = [
        Group(1, owners),
        *[Commit(p) for p in ("b-0", "a-1", "a-0", "a-1", "a-0", "b-0", "b-0")],
        Commit("a-0", gone=True),
    ]

    expected = [
        "GroupMetadata, generation 1",
        "OffsetCommit a-1, a-0",
        "OffsetCommit b-0",
        "deleted a-0",
    ]
    assert expected == outline(log, "")


def test_a_request_ends_with_its_batch():
    """Two members' requests never share a batch with another owner's in between."""
    owners = {"a-0": "m1", "a-1": "m1"}
    log = [Group(1, owners), Commit("a-0", begins=True), Commit("a-1", begins=True), Commit("a-0")]

    expected = ["GroupMetadata, generation 1", "OffsetCommit a-0", "OffsetCommit a-1, a-0"]
    assert expected == outline(log, "")


def test_without_order_the_requests_of_the_same_partitions_are_one():
    """The order of partitions in a request is modelled for the Java client only."""
    owners = {"a-0": "m1", "a-1": "m1"}
    commits = [Commit(p, begins=p == "a-1") for p in ("a-1", "a-0")]
    log = [Group(1, owners), *commits, Commit("a-0", begins=True), Commit("a-1")]

    assert ["OffsetCommit a-0, a-1", "OffsetCommit a-1, a-0"] == outline(log, "")[1:]
    assert ["OffsetCommit a-0, a-1"] == outline(log, "", in_order=False)[1:]


def test_the_outline_of_epochs_names_members_by_their_clients():
    """Distinct requests are between two group epochs; steps give the owners."""
    steps = {"x": (("T", 0),), "y": (("T", 1),)}
    log = [
        EpochRecord(kind=MEMBER, member_id="x", client_id="m1"),
        EpochRecord(kind=METADATA, epoch=2),
        *[EpochRecord(kind=CURRENT, member_id=m, epoch=2, owned=o) for m, o in steps.items()],
        *[Commit(name, topic_id="T") for name in ("a-1", "a-0", "a-1")],
        EpochRecord(kind=CURRENT, member_id="x", gone=True),
        EpochRecord(kind=METADATA, epoch=3),
    ]

    expected = [
        "ConsumerGroupMemberMetadata m1",
        "ConsumerGroupMetadata, epoch 2",
        "ConsumerGroupCurrentMemberAssignment m1, epoch 2",
        "ConsumerGroupCurrentMemberAssignment y, epoch 2",
        "deleted ConsumerGroupCurrentMemberAssignment m1",
        "OffsetCommit a-0",
        "OffsetCommit a-1",
        "ConsumerGroupMetadata, epoch 3",
    ]
    assert expected == outline(log, "")


def test_a_dump_of_the_consumer_protocol_is_read(kept):
    """Its records have members, epochs and what each member owns."""
    group = "kip848-crash-1-cad7p"
    records = read_dump(kept / f"offsets-log/{group}.dump.txt.gz")
    log = entries(records, group, records[-1].created_ms)
    steps = [entry for entry in log if isinstance(entry, EpochRecord) and entry.kind == CURRENT]

    assert len(log) == len(records)
    assert [2, 2, 2, 3, 3] == [step.epoch for step in steps[:5]]
    assert [6, 0, 6, 3, 3] == [len(step.owned) for step in steps[:5]]
    assert [True, True] == [step.gone for step in steps[-2:]]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("CreateTime: 5", "CreateTime: ?", "not a record"),
        ('"partition":1', '"partition":', "the key is not JSON"),
        ('"partition":1', '"partition":"x"', r"field 'key\.data\.partition' is \"x\""),
        ('"type":"1",', "", r"field 'key\.type' is missing"),
        ('{"offset":9}', "[]", r"field 'payload\.data' is \[\]"),
    ],
)
def test_a_bad_record_is_named(tmp_path, old, new, problem):
    """The error says file, line and what is wrong."""
    path = written(tmp_path / "a.dump.txt.gz", "Dumping", LINE.replace(old, new))

    with pytest.raises(CaptureError, match=rf"dump\.txt\.gz, line 2: {problem}"):
        read_dump(path)


def test_other_lines_of_a_dump_are_not_records(tmp_path):
    """The tool writes a line a batch too."""
    path = written(tmp_path / "a.dump.txt.gz", "baseOffset: 3 lastOffset: 3", LINE)

    assert [record.partition for record in read_dump(path)] == ["t-1"]


@pytest.mark.long
@pytest.mark.parametrize("path", DUMPS_AT_HAND, ids=lambda path: path.name)
def test_every_dump_at_hand_is_read(path):
    """All dumps of ``REBALANCE_CAPTURES`` have records."""
    assert read_dump(path)


@pytest.mark.long
def test_the_log_of_every_group_begins_with_its_creation(capture_at_hand):
    """The same holds on every capture at hand of which there is a dump."""
    run = capture_at_hand
    dump = dump_of(run.path, run.group)
    if dump:
        log = entries(read_dump(dump), run.group, (run.origin + run.end_us) // 1000)
        first = outline(log, run.prefix)[0]

        assert first.startswith(
            "ConsumerGroupMemberMetadata " if run.has_epochs else "GroupMetadata, generation 0"
        )
