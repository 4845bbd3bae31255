"""``rebalance run --events``: the file is whole or not there, and nothing else is replaced."""

from __future__ import annotations

import errno
import signal

import pyarrow.parquet as pq
import pytest

from emulator.cli import main
from emulator.events import parquet as tables
from emulator.events.parquet import EventFile

from ..commands import rebalance, written


def refused(tmp_path, target):
    """Return why the file cannot be written; nothing is played or left behind."""
    path = written(tmp_path)
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    status, out, err = rebalance("run", path, "--events", target)
    assert (2, "", 1) == (status, out, err.count("\n"))
    assert before == {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    return err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent/events.parquet", "there is no folder"),
        ("events.csv", "ends in .parquet"),
        ("events", "ends in .parquet"),
        (".", "it is a folder"),
        ("crash.toml", "ends in .parquet"),
        ("crash.toml/events.parquet", "there is no folder"),
        (f"{'e' * 246}.parquet", "File name too long"),
        (f"{'e' * 300}.parquet", "File name too long"),
    ],
)
def test_a_file_that_cannot_be_meant_or_made_is_refused(tmp_path, name, said):
    """Before the run, not after an hour."""
    assert said in refused(tmp_path, tmp_path / name)


def test_a_file_that_is_something_else_is_not_replaced(tmp_path):
    """Whatever its name says."""
    (tmp_path / "notes.parquet").write_text("dear to somebody")

    assert "is not Parquet" in refused(tmp_path, tmp_path / "notes.parquet")


def test_a_device_is_not_replaced(tmp_path):
    """A rename would remove the device."""
    link = tmp_path / "null.parquet"
    link.symlink_to("/dev/null")

    assert "it is a device" in refused(tmp_path, link)


def test_events_of_an_earlier_run_are_replaced(tmp_path):
    """People run things again."""
    path, target = written(tmp_path), tmp_path / "events.parquet"
    for seed in (1, 2):
        assert 0 == rebalance("run", path, "--seed", seed, "--events", target).status

    assert b"2" == pq.read_schema(target).metadata[b"seed"]
    assert {path, target} == set(tmp_path.iterdir())


def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path, monkeypatch):
    """Not half of something new, and no traceback."""
    target = tmp_path / "events.parquet"
    assert 0 == rebalance("run", written(tmp_path), "--events", target).status

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)

    assert "No space left on device" in refused(tmp_path, target)


def test_a_terminated_process_leaves_nothing(tmp_path, monkeypatch):
    """Schedulers send SIGTERM: status 143, and no half-written file."""
    path = written(tmp_path)
    write, events = EventFile.write, []

    def terminate(file, event):
        write(file, event)
        events.append(event)
        if len(events) == 100:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(EventFile, "write", terminate)
    before = signal.signal(signal.SIGTERM, main._terminate)
    try:
        answer = rebalance("run", path, "--events", tmp_path / "events.parquet")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (143, "", "") == answer
    assert 100 == len(events)
    assert [path] == list(tmp_path.iterdir())


def test_only_so_many_events_are_held_in_memory(tmp_path, monkeypatch):
    """They are written in groups, however long the run is."""
    monkeypatch.setattr(tables, "ROWS", 50)
    most, write = [0], EventFile.write

    def watched(file, event):
        write(file, event)
        most[0] = max(most[0], len(file._rows))

    monkeypatch.setattr(EventFile, "write", watched)
    target = tmp_path / "events.parquet"
    assert 0 == rebalance("run", written(tmp_path), "--events", target).status

    assert most[0] < 50
    assert pq.ParquetFile(target).metadata.num_rows > 100
    assert pq.ParquetFile(target).num_row_groups > 2
