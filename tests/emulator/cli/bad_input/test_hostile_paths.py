"""Paths that cannot be looked up: too long, in a loop of links, below a file."""

from __future__ import annotations

import errno
import os

import pytest

from emulator.cli.output import NOT_USABLE, message_of

from ..commands import CRASH, rebalance, written

LOG = "topic,partition,consumer,offset,end\norders,0,c-0,1,1700000000000\n"
INIT = (
    "init",
    "PATH",
    "--members",
    "1",
    "--partitions",
    "1",
    "--rate",
    "1/s",
    "--work",
    "1ms",
    "--config",
    "none",
)
COMMANDS = (
    ("run", "PATH"),
    ("run", "crash.toml", "--junit", "PATH/result.xml"),
    ("study", "PATH", "-o", "out"),
    ("compare", "PATH"),
    ("explain", "PATH"),
    ("audit", "PATH"),
    ("audit", "log.csv", "--commits", "PATH"),
    ("audit", "log.csv", "-o", "PATH"),
    ("blame", "PATH", "PATH"),
    ("import", "PATH", "-o", "out"),
    ("log", "PATH"),
    ("verify", "PATH"),
    ("assign", "PATH"),
    INIT,
    ("capture", "crash.toml", "-o", "PATH"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder, with a scenario, a processing log, and two links in a loop."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("path", ["y" * 5_000, "loop/x", "log.csv/x"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_path_that_cannot_be_looked_up_is_refused(folder, words, path):
    """With one message that has the path, and nothing written."""
    before = sorted(folder.iterdir())

    status, out, err = rebalance(*(word.replace("PATH", path) for word in words))

    assert (2, "") == (status, out)
    assert path[:50] in err
    assert len(err) < 2_000
    assert before == sorted(folder.iterdir())


@pytest.mark.parametrize("number", NOT_USABLE)
def test_an_error_of_a_path_is_one_message_wherever_it_is_raised(number):
    """Other errors of the system keep their place: they may be ours."""
    error = OSError(number, os.strerror(number), "there\u202e")

    assert message_of(error) == f"there\\u202e: cannot be used: {os.strerror(number)}"
    assert message_of(OSError(errno.EBADF, "Bad file descriptor", "there")) is None
    assert message_of(OSError(number, os.strerror(number))) is None


def test_a_file_for_ci_replaces_no_file_of_the_user(folder):
    """It is refused before the run."""
    (folder / "pom.xml").write_text("<project/>")
    for name, said in (
        ("crash.toml", "the name of this file ends in .xml"),
        ("pom.xml", "of another origin"),
        (".", "it is a folder"),
    ):
        status, out, err = rebalance("run", "crash.toml", "--junit", name)

        assert (2, "") == (status, out)
        assert said in err

    assert CRASH == (folder / "crash.toml").read_text()
    assert 0 == rebalance("run", "crash.toml", "--junit", "result.xml").status
    assert 0 == rebalance("run", "crash.toml", "--junit", "result.xml").status


def test_a_folder_of_files_that_is_not_there_is_refused(folder):
    """It would allow nothing, without notice."""
    status, out, err = rebalance("run", "crash.toml", "--files-in", folder / "none")

    assert (2, "") == (status, out)
    assert "--files-in" in err
    assert "there is no folder" in err
