"""Temporary folders end with their process, or with the next capture."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from emulator.capturing import temporary
from emulator.capturing.temporary import remove_abandoned, temporary_folder

HOLD = """
import sys, tempfile
from emulator.capturing.temporary import temporary_folder
tempfile.tempdir = sys.argv[1]
with temporary_folder() as folder:
    (folder / "node-1").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Return a process that holds a temporary folder, and the folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process, Path(process.stdout.readline().decode().strip())
        process.kill()


def test_what_a_killed_process_left_is_removed(held):
    process, folder = held
    said = []

    remove_abandoned(said.append)
    assert ([], True) == (said, folder.exists())

    process.kill()
    process.wait()
    assert folder.exists()
    remove_abandoned(said.append)

    assert [f"removing {folder}, which a capture left that was killed"] == said
    assert not folder.exists()


def test_folders_of_unknown_use_and_of_other_users_stay(held, tmp_path, monkeypatch):
    process, folder = held
    unknown = tmp_path / f"{temporary.PREFIX}of-another-program"
    unknown.mkdir()
    (tmp_path / f"{temporary.PREFIX}link").symlink_to(folder)
    process.kill()
    process.wait()
    monkeypatch.setattr("os.getuid", lambda: folder.stat().st_uid + 1)

    remove_abandoned(lambda _: None)

    assert folder.exists()
    assert unknown.exists()
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_abandoned(lambda _: None)
    assert (False, True) == (folder.exists(), unknown.exists())


def test_a_folder_goes_with_its_context_and_lets_others_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as cluster, temporary_folder("run-") as run:
        remove_abandoned(lambda _: None)
        assert {cluster, run} == set(tmp_path.iterdir())

    assert [] == list(tmp_path.iterdir())
