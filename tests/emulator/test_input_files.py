"""Files that are larger than real ones are refused before they fill the memory."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

import pytest

from emulator import input_files
from emulator.conformance.captured import reading
from emulator.input_files import (
    FileTooLargeError,
    allow_files,
    file_in,
    limit_files,
    read_bytes,
    read_stream,
    unpacked,
)
from emulator.scenario.load import load
from emulator.scenario.problems import ScenarioError

from .cli.commands import rebalance


@pytest.fixture(autouse=True)
def default_limits():
    """Forget the limit of a test."""
    yield
    limit_files(None)


def test_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path):
    """And with the option that raises it."""
    path = tmp_path / "large.toml"
    path.write_text("#" * 1_001 + '\ntitle = "x"')
    limit_files(1_000)

    with pytest.raises(
        FileTooLargeError, match=r"large\.toml: larger than 1,000 bytes, .*raises it"
    ):
        load(path)


def test_a_stream_without_an_end_is_refused():
    """No more of it is read than is needed to know."""

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"#" * size

    with pytest.raises(FileTooLargeError, match="the input: larger than 5 bytes"):
        read_stream(Endless(), "the input", 5)


@pytest.mark.parametrize("size", [0, 1, 2**16 - 1, 2**16, 200_000])
@pytest.mark.parametrize("streams", [1, 3])
def test_gzip_files_are_unpacked_as_by_gzip(size, streams):
    """Streams may follow each other; a limit that is just reached is none."""
    text = bytes(number * number % 251 for number in range(size))
    packed = gzip.compress(text) * streams

    assert text * streams == unpacked(packed, "x", size * streams)
    with pytest.raises(EOFError):
        unpacked(packed[:-3], "x", size * streams)
    with pytest.raises(zlib.error):
        unpacked(b"no gzip at all", "x", 100)


def test_a_capture_that_unpacks_to_very_much_is_refused_early(tmp_path, monkeypatch):
    """A few kilobytes may become gigabytes; only the limit is ever unpacked."""
    monkeypatch.setattr(reading, "MAX_CAPTURED_BYTES", 10_000)
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(5_000_000)))

    with pytest.raises(FileTooLargeError, match="larger than 10,000 bytes unpacked"):
        reading.read_text(path)


def test_the_command_line_raises_the_limit(tmp_path):
    """By the option that the message names."""
    path = tmp_path / "quiet.toml"
    path.write_bytes(rebalance("scenarios", "show", "quiet").out.encode() + b"#" * 3_000)
    status, _, err = rebalance("run", path, "--max-file-size", "2000B")

    assert status == 2
    assert "--max-file-size raises it" in err
    assert 0 == rebalance("run", path, "--max-file-size", "10KiB")[0]
    assert read_bytes(path, 5_000)
    assert 2 == rebalance("run", path, "--max-file-size", "much")[0]


@pytest.fixture
def own_folders(monkeypatch):
    """Forget the folders that a test allows."""
    monkeypatch.setattr(input_files, "_folders", [])


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("name", ["{}/secret", "../secret", "below/../../secret", "link"])
def test_a_file_that_an_input_names_is_in_its_folder_or_below(tmp_path, name):
    """Or in a folder that was allowed; a link does not lead out of it."""
    folder = tmp_path / "own"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to("../secret")
    name = name.format(tmp_path)

    with pytest.raises(ValueError, match=r"outside the folder .*/own; copy .*`files_in=/.*`"):
        file_in(folder, name)

    allow_files(tmp_path)
    assert (tmp_path / "secret").samefile(file_in(folder, name))


def test_a_file_below_is_in_the_folder(tmp_path, monkeypatch):
    """However the folder is written, and whether or not the file exists."""
    monkeypatch.chdir(tmp_path)

    assert tmp_path / "below" / "x" == tmp_path / file_in(Path(), "below/x")
    assert tmp_path / "x" == file_in(tmp_path, "below/../x").resolve()


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("key", ['settings_from = "../x.env"', 'work = { trace = "../x.env" }'])
def test_a_scenario_shows_nothing_of_files_elsewhere(tmp_path, key):
    """The refusal names the option that allows the folder."""
    (tmp_path / "x.env").write_text("TOKEN=secret\n")
    scenario = tmp_path / "own" / "scenario.toml"
    scenario.parent.mkdir()
    text = (
        'title = "x"\nrun_for = "1s"\n[[topic]]\nname = "t"\n[[group]]\nid = "g"\ntopics = ["t"]\n'
    )
    scenario.write_text(text + key)

    status, out, err = rebalance("run", scenario)

    assert (2, "") == (status, out)
    assert f"allow its folder with --files-in {tmp_path}" in err
    assert "TOKEN" not in err
    assert "outside the folder" not in rebalance("run", scenario, "--files-in", tmp_path)[2]


@pytest.mark.usefixtures("own_folders")
def test_a_study_shows_nothing_of_files_elsewhere(tmp_path):
    """Its scenario is beside it, too."""
    (tmp_path / "x.env").write_text("TOKEN=secret\n")
    study = tmp_path / "own" / "study.toml"
    study.parent.mkdir()
    study.write_text(f'title = "x"\nscenario = "{tmp_path}/x.env"\nseeds = 2\nmetrics = ["lost"]\n')

    status, out, err = rebalance("study", study, "-o", tmp_path / "out")

    assert (2, "") == (status, out)
    assert "outside the folder" in err
    assert "TOKEN" not in err


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that nothing is written to, in place of an input file."""

    def make(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        return path

    return make


@pytest.mark.parametrize(
    ("name", "key"),
    [("c.properties", 'settings_from = "{}"'), ("t.txt", 'work = {{ trace = "{}" }}')],
)
def test_a_named_pipe_that_a_scenario_names_is_refused(tmp_path, pipe, name, key):
    """Reading it would wait for ever."""
    pipe(name)
    path = tmp_path / "s.toml"
    path.write_text(
        'title = "x"\nrun_for = "1s"\ntopic = [{ name = "t", rate = "1/s" }]\n'
        f'[[group]]\nid = "g"\ntopics = ["t"]\nmembers = 1\n{key.format(name)}\n'
    )

    with pytest.raises(ScenarioError, match="a named pipe, which may never end"):
        load(path)


def test_a_named_pipe_in_a_captured_run_is_refused(pipe):
    with pytest.raises(reading.CaptureError, match="a named pipe, which may never end"):
        reading.read_text(pipe("run-1/meta.json"))


def test_a_number_without_end_in_a_captured_run_is_refused(tmp_path):
    """Its logs are read by patterns, whose numbers may have any length."""
    (tmp_path / "coordinator.log").write_text(f"generation {'9' * 5_000}")

    with pytest.raises(reading.CaptureError, match="a number of more than 4,300 digits"):
        reading.read_text(tmp_path / "coordinator.log")


def test_a_named_pipe_in_a_folder_of_segments_is_refused(pipe):
    segment = pipe("__consumer_offsets-4/00000000000000000000.log")
    status, _, err = rebalance("log", segment.parent)

    assert status == 2
    assert "a named pipe, which may never end" in err
