"""Files that leave are whole or not there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator import output_files
from emulator.output_files import (
    FolderInUseError,
    delete_temporary,
    only_writer,
    put,
    written_beside,
)
from emulator.parquet_file import ParquetOutput

ROWS = pa.table({"n": [1, 2, 3]})


def fail_half_way(target):
    with written_beside(target) as part:
        part.write_text("half")
        raise RuntimeError


def fail_after_some_rows(target):
    with ParquetOutput(target, ROWS.schema) as output:
        output.write(ROWS)
        raise RuntimeError


def test_a_file_takes_its_name_at_the_end(tmp_path):
    """While it is written it has another name."""
    target = tmp_path / "out.txt"
    with written_beside(target) as part:
        part.write_text("half")
        seen = target.exists()

    assert not seen
    assert target.read_text() == "half"


def test_a_failure_keeps_the_old_file(tmp_path):
    """The old file is unchanged, and there is no other file beside it."""
    target = tmp_path / "out.txt"
    put(target, b"before")
    with pytest.raises(RuntimeError):
        fail_half_way(target)

    assert [target] == list(tmp_path.iterdir())
    assert b"before" == target.read_bytes()


def test_a_table_is_whole_or_not_there(tmp_path):
    """Rows of a file that failed are nowhere; those of one that did not can be read."""
    failed, whole = tmp_path / "failed.parquet", tmp_path / "whole.parquet"
    with pytest.raises(RuntimeError):
        fail_after_some_rows(failed)
    with ParquetOutput(whole, ROWS.schema) as output:
        output.write(ROWS)
        output.write(ROWS.to_batches()[0])

    assert [whole] == list(tmp_path.iterdir())
    assert [1, 2, 3, 1, 2, 3] == pq.read_table(whole)["n"].to_pylist()


def test_a_missing_folder_is_reported_at_once(tmp_path):
    """Not after an hour of rows."""
    with pytest.raises(FileNotFoundError):
        ParquetOutput(tmp_path / "nowhere" / "out.parquet", ROWS.schema)


# -- locks ---------------------------------------------------------------------------------------


def test_a_lock_has_one_holder_and_leaves_no_file(tmp_path):
    """A file that a killed process has left over does not hinder."""
    lock = tmp_path / ".out.lock"
    lock.touch()
    with (
        only_writer(tmp_path / "out", lock),
        pytest.raises(FolderInUseError, match="/out: another process is writing to it; wait"),
        only_writer(tmp_path / "out", lock),
    ):
        pass
    with only_writer(tmp_path / "out", lock):
        assert lock.exists()

    assert not lock.exists()


def test_a_lock_whose_file_its_holder_has_just_deleted_is_taken_anew(tmp_path, monkeypatch):
    """Two processes would otherwise hold locks of two files with one name."""
    lock, taken = tmp_path / ".lock", []
    whole = output_files._lock

    def deleted_meanwhile(file, folder):
        whole(file, folder)
        taken.append(file)
        if len(taken) == 1:
            lock.unlink()

    monkeypatch.setattr(output_files, "_lock", deleted_meanwhile)
    with only_writer(tmp_path, lock):
        assert lock.exists()
    assert 2 == len(taken)


def test_only_temporary_files_are_deleted(tmp_path):
    """Those of one name, or all."""
    for name in (".out.1.part", ".out.old.2.part", ".outer.3.part", ".out.part", "out.4.part"):
        (tmp_path / name).mkdir()
    delete_temporary(tmp_path, "out")
    assert [".out.old.2.part", ".out.part", ".outer.3.part", "out.4.part"] == names_in(tmp_path)

    delete_temporary(tmp_path)
    assert [".out.part", "out.4.part"] == names_in(tmp_path)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())
