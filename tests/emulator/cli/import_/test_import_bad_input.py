"""Refusals of ``rebalance import``: with a reason, status 2, and no output folder."""

from __future__ import annotations

import errno
import socket

import pytest

from emulator.logs.imports import live, request, store
from protocols.offsets_topic.records import encode
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import NO_PRODUCER
from protocols.offsets_topic.segments.record import LogRecord

from ...logs.imports.logs import batch, commit, segment_of, written
from ..commands import rebalance


def refused(tmp_path, *arguments):
    """Return why an import is refused."""
    status, out, err = rebalance("import", *arguments)
    assert (2, "") == (status, out)
    assert not (tmp_path / "imported").exists()
    return err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([segment_of(4)], "-o is missing: a new folder for the tables of 1 segment"),
        (["nowhere"], "nowhere: cannot be read: No such file"),
        (["text.log"], "text.log: not a log: it contains no record batch"),
        (["s3://bucket/nowhere"], "-o is missing: a new folder for the tables of remote segments"),
        (["-o", "imported"], "give either SOURCE"),
        ([segment_of(4), "--bootstrap", "h:1", "-o", "imported"], "give either SOURCE"),
        ([segment_of(4), "--set", "a=b", "-o", "imported"], "are for a live cluster"),
        (
            [segment_of(4), "--from", "noon", "-o", "imported"],
            "--from noon: not a time; expected a form such as 2026-",
        ),
        (
            [segment_of(4), "--from", "2026-05-05", "--to", "2026-05-04", "-o", "imported"],
            "--from 2026-05-05 is not before --to 2026-05-04",
        ),
        ([segment_of(4), "--engine", "pool", "--master", "yarn", "-o", "imported"], "--master is"),
        (["nowhere", "-o", "imported"], "nowhere: cannot be read: No such file"),
        (["empty", "-o", "imported"], "empty: no segment in this folder; segments are files such"),
        (["text.log", "-o", "imported"], "text.log: not a log: it contains no record batch"),
        (["orders.log", "-o", "imported"], "orders.log: a log of another topic"),
        (
            ["--bootstrap", "h:1", "--config", "nowhere", "-o", "imported"],
            "--config nowhere: cannot",
        ),
        (
            ["--bootstrap", "h:1", "--set", "secret", "-o", "imported"],
            "--set: 'secret' is not a setting",
        ),
        (
            ["--bootstrap", "h:1", "--set", "foo=1", "-o", "imported"],
            'configuration property: "foo"',
        ),
        ([segment_of(4), "-o", "text.log/imported"], "-o text.log/imported: cannot be written"),
    ],
)
def test_sources_that_cannot_be_imported_are_refused(arguments, reason, tmp_path, monkeypatch):
    """With the given source and the possible ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.log").write_text("a text of some length, and no log of anybody's " * 9)
    other = commit()._replace(key=commit().key._replace(group="g"))
    data = batch(other).replace(b"\0\1\0\1g", b"\x7f\1\0\1g")
    written(tmp_path, _sealed(data), "orders.log")

    assert reason in refused(tmp_path, *arguments)


def _sealed(data: bytes) -> bytes:
    """Give a batch that was changed the checksum that it should have."""
    from crc32c import crc32c  # noqa: PLC0415

    return data[:17] + crc32c(data[21:]).to_bytes(4) + data[21:]


def test_a_folder_that_holds_something_else_is_left_as_it_is(tmp_path):
    """An import too: it may belong to the user."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("kept")
    rebalance("import", segment_of(4), "-o", tmp_path / "old")

    other = rebalance("import", segment_of(4), "-o", tmp_path / "mine")
    again = rebalance("import", segment_of(4), "-o", tmp_path / "old")

    assert (2, 2) == (other.status, again.status)
    assert "it already contains other files; give another folder" in other.err
    assert "it already contains an import; give another folder" in again.err
    assert ["notes.txt"] == [path.name for path in (tmp_path / "mine").iterdir()]


def test_the_tables_of_an_import_are_no_source_of_another(tmp_path):
    """With or without -o, the message says what they are, and which commands take them."""
    old = tmp_path / "old"
    rebalance("import", segment_of(4), "-o", old)

    for arguments in ((old,), (old, "-o", tmp_path / "imported")):
        reason = refused(tmp_path, *arguments)
        assert f"{old}: an import already: its tables are in this folder." in reason
        assert f"rebalance import {old} --scenario GROUP" in reason
        assert f"rebalance audit LOGS --commits {old}" in reason


@pytest.mark.parametrize("given", ["", "commits", "findings/groups.parquet"])
def test_the_tables_of_an_import_are_no_processing_log(tmp_path, given):
    """An audit says what they are, and what to give."""
    rebalance("import", segment_of(4), "-o", tmp_path / "old")
    status, out, err = rebalance("audit", tmp_path / "old" / given)

    assert (2, "") == (status, out)
    assert "what rebalance import wrote: committed offsets and groups, no processing log" in err
    assert f"--commits {tmp_path / 'old'}" in err


def test_segments_are_no_processing_log(tmp_path):
    """They are imported first."""
    folder = tmp_path / "__consumer_offsets-4"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(segment_of(4).read_bytes())
    err = rebalance("audit", folder).err

    assert "its segments are committed offsets, no processing log" in err
    assert f"rebalance import {folder} -o DIR" in err


def test_a_full_disk_is_reported_and_the_import_can_resume(tmp_path, monkeypatch):
    """Nothing is half-written."""
    write = store.pq.ParquetWriter.write_batch

    def full(self, rows, *more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.pq.ParquetWriter, "write_batch", full)
    reason = refused(tmp_path, segment_of(4), "-o", tmp_path / "imported")
    half = list(store.part_of(tmp_path / "imported").glob("*/*"))
    monkeypatch.setattr(store.pq.ParquetWriter, "write_batch", write)

    assert "cannot be written: No space left on device. The pieces read so far are kept" in reason
    assert ["plan.json"] == [path.name for path in half]
    assert 0 == rebalance("import", segment_of(4), "-o", tmp_path / "imported").status


def test_without_the_client_it_says_what_to_install(tmp_path, monkeypatch):
    """Segment files need none."""
    monkeypatch.setattr(request, "find_spec", lambda _: None)

    reason = refused(tmp_path, "--bootstrap", "h:1", "-o", tmp_path / "imported")

    assert "pip install 'rebalance-emulator[live]'" in reason


def test_an_unreachable_broker_is_reported_by_its_address(tmp_path, monkeypatch):
    """After a timeout."""
    monkeypatch.setattr(live, "PATIENCE_S", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"127.0.0.1:{held.getsockname()[1]}"

    reason = refused(tmp_path, "--bootstrap", address, "-o", tmp_path / "imported")

    assert f"--bootstrap {address}: no answer within 0 s: " in reason
    assert "Connection refused" in reason


def test_a_lost_broker_is_reported_and_the_import_can_resume(tmp_path, monkeypatch):
    """In the middle of a partition."""
    monkeypatch.setattr(live, "PATIENCE_S", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"127.0.0.1:{held.getsockname()[1]}"
    gone = live.LogRange(live.TOPIC, 3, 0, 10)
    monkeypatch.setattr(live, "log_ranges", lambda *_, **__: [gone])

    reason = refused(tmp_path, "--bootstrap", address, "-o", tmp_path / "imported")

    assert f"--bootstrap {address}: no answer within " in reason
    assert "the same command continues from there" in reason


@pytest.mark.parametrize("times", [(-(2**63),), (2**63 - 1,), (-(2**63), 2**63 - 1)])
def test_records_of_any_time_are_imported(tmp_path, times):
    """A damaged record may have any 64-bit number; what is derived from it stays within 64 bits."""
    data = b"".join(
        encode_batch([LogRecord(n, at_ms, *encode(commit(offset=n)))], producer=NO_PRODUCER)
        for n, at_ms in enumerate(times)
    )
    status, out, err = rebalance(
        "import", written(tmp_path / "__consumer_offsets-3", data), "-o", tmp_path / "imported"
    )

    assert (0, "") == (status, err)
    assert f"{len(times)} commit" in out
    assert str(times[0]) in out
