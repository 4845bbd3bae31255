"""Which files make up which logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.logs.offsets_log.finding import LogFileError, logs_of

FIRST, SECOND = "00000000000000000000.log", "00000000000000000500.log"


def found(*paths: Path) -> list[tuple[str, list[int | None]]]:
    """Return the logs: names, and base offsets in their order."""
    return [(log.name, [each.base_offset for each in log.segments]) for log in logs_of(paths)]


def put(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")
    return [folder / name for name in names]


def test_segments_of_one_folder_are_one_log_in_order_of_base_offsets(tmp_path):
    """However they were given, compressed or not, and each once."""
    one, two = put(tmp_path, SECOND + ".gz", FIRST)

    assert [(str(tmp_path), [0, 500])] == found(one, two) == found(tmp_path) == found(tmp_path, two)


def test_a_folder_is_its_segments_and_nothing_else_in_it(tmp_path):
    """Indexes, snapshots and what the cleaner left lie beside them."""
    put(tmp_path, FIRST, "00000000000000000000.index", "leader-epoch-checkpoint", "a.log")
    put(tmp_path, "00000000000000000009.log.deleted", "00000000000000000009.log.cleaned")

    assert [(str(tmp_path), [0])] == found(tmp_path)


def test_names_before_the_base_offset_separate_logs(tmp_path):
    """If segments of several partitions were copied into one folder."""
    put(tmp_path, f"__consumer_offsets-4.{FIRST}.gz", f"__consumer_offsets-11.{FIRST}")

    assert [
        (f"{tmp_path}/__consumer_offsets-11", [0]),
        (f"{tmp_path}/__consumer_offsets-4", [0]),
    ] == found(tmp_path)


def test_a_brokers_folder_is_the_logs_of_the_offsets_topic_in_it(tmp_path):
    """Other topics are passed over, and partitions that have no segment here."""
    put(tmp_path / "__consumer_offsets-7", FIRST, SECOND)
    put(tmp_path / "__consumer_offsets-8")
    put(tmp_path / "orders-0", FIRST)

    assert [(f"{tmp_path}/__consumer_offsets-7", [0, 500])] == found(tmp_path)


def test_the_same_name_in_two_folders_is_two_logs(tmp_path):
    """Replicas of one partition, say."""
    (one,), (other,) = put(tmp_path / "a", FIRST), put(tmp_path / "b", FIRST)

    assert [(f"{tmp_path}/a", [0]), (f"{tmp_path}/b", [0])] == found(one, other)


def test_any_other_name_is_a_log_of_its_own(tmp_path):
    """Its base offset is not known; the input is one as well."""
    (path,) = put(tmp_path, "saved.bin")

    assert [(str(path), [None]), ("-", [None])] == found(path, Path("-"))


def test_here_is_called_by_its_name(tmp_path, monkeypatch):
    """A dot would say little."""
    put(tmp_path / "__consumer_offsets-7", FIRST)
    monkeypatch.chdir(tmp_path / "__consumer_offsets-7")

    assert [("__consumer_offsets-7", [0])] == found(Path()) == found(Path(FIRST))


def test_two_segments_at_one_offset_are_refused(tmp_path):
    """One of them is a copy, and it is unknown which."""
    put(tmp_path, FIRST, FIRST + ".gz")

    with pytest.raises(LogFileError, match="begin at the same offset; give one of them"):
        found(tmp_path)


def test_paths_that_are_not_files_are_refused(tmp_path):
    """Missing, an empty folder, a device: named, with the expected content."""
    with pytest.raises(LogFileError, match="nothing: cannot be read: No such file"):
        found(tmp_path / "nothing")
    with pytest.raises(LogFileError, match=r"no segment in this folder; segments are files such"):
        found(tmp_path)
    with pytest.raises(LogFileError, match="null: not a regular file"):
        found(Path(os.devnull))
