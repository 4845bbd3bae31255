"""``rebalance log`` on other files and on damaged logs: reported, and the rest is read."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.record import LogRecord

from ..commands import rebalance
from .test_log import CONSUMER, FIRST, STATIC, batch

SCRIPT = Path(sys.executable).parent / "rebalance"


def refused(*arguments: object) -> str:
    """Return the one sentence that is said of bad input."""
    status, out, err = rebalance("log", *arguments)
    assert (2, "", 1) == (status, out, err.count("\n"))
    return err


def written(folder: Path, data: bytes, name: str = FIRST) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "not a log: it contains no record batch"),
        (b"a text of some lines\n" * 99, "not a log: it contains no record batch"),
        (bytes(10**6), "(at its beginning: zeros: space set aside and not written)"),
        (STATIC.read_bytes()[:30], "gzip: cut off before its end"),
        (b"\x1f\x8b\x08broken", "gzip: "),
    ],
)
def test_other_files_are_refused(tmp_path, data, said):
    """With the name, the content, and the expected content."""
    path = written(tmp_path, data)

    err = refused(path)

    assert err.startswith(f"{path}: ")
    assert said in err
    assert "segments are files such as 00000000000000000000.log" in err


def test_a_log_of_another_topic_is_refused(tmp_path):
    """It can be read, and is not meant."""
    path = written(tmp_path, encode_batch([LogRecord(0, 0, b"customer-17", b"{}")]))

    assert refused(path).startswith(f"{path}: a log of another topic: its batches are valid, but")


@pytest.mark.parametrize("option", [(), ("--state-only",), ("--table",), ("--follow-state",)])
def test_files_that_are_not_there_are_refused_before_anything_is_shown(tmp_path, option):
    """Also behind one that is fine."""
    err = refused(CONSUMER, tmp_path / "gone.log", *option)

    assert f"{tmp_path}/gone.log: cannot be read: No such file or directory\n" == err
    assert "no segment in this folder" in refused(tmp_path, *option)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    """With the system's word for it."""
    path = written(tmp_path, b"")
    path.chmod(0)

    assert "Permission denied" in refused(path)


def test_an_empty_segment_is_fine(tmp_path):
    """Kafka has one when a segment has just begun; that there is nothing is said."""
    for data in (b"", gzip.compress(b"")):
        status, out, err = rebalance("log", written(tmp_path, data))

        assert (0, "") == (status, out)
        assert err.startswith(f"{tmp_path}/{FIRST}: empty: there is nothing to show")


def test_one_bad_file_among_others_does_not_hide_them(tmp_path):
    """It is reported, and the status says that the input was bad."""
    status, out, err = rebalance("log", written(tmp_path, b"junk" * 99, "junk.log"), STATIC)

    assert 2 == status
    assert out.splitlines() == [
        json.dumps({"log": str(STATIC).split(f".{FIRST}")[0], **json.loads(line)})
        for line in rebalance("log", STATIC).out.splitlines()
    ]
    assert err.startswith(f"{tmp_path}/junk.log: not a log: ")


def test_a_damaged_batch_is_a_gap_and_the_rest_is_read(tmp_path):
    """Its line takes the place of its records; stderr has it once more."""
    good = batch("g", 1, at=0), batch("g", 2, at=1), batch("g", 3, at=2)
    path = written(tmp_path, good[0] + good[1][:-1] + b"!" + good[2])

    status, out, err = rebalance("log", path)
    first, gap, last = map(json.loads, out.splitlines())

    assert (1, 0, 2) == (status, first["offset"], last["offset"])
    assert (len(good[0]), len(good[1])) == (gap["position"], gap["size"])
    assert err.startswith(f"{path}: 1 gap, {len(good[1])} bytes, could not be read: checksum ")


@pytest.mark.parametrize("option", ["--state-only", "--table"])
def test_a_damaged_batch_is_reported_without_records(tmp_path, option):
    """The groups are read from the rest."""
    data = gzip.decompress(STATIC.read_bytes())

    status, out, err = rebalance("log", written(tmp_path, data[:-3]), option)

    assert 1 == status
    assert out
    assert "1 gap" in err


def test_a_truncated_compressed_file_shows_its_records(tmp_path):
    """The last line is a gap of unknown size."""
    path = written(tmp_path, STATIC.read_bytes()[:-1500], FIRST + ".gz")

    status, out, err = rebalance("log", path)
    documents = [json.loads(line) for line in out.splitlines()]
    end = documents[-1]

    assert 1 == status
    assert ("unreadable", None, "gzip: cut off before its end") == (
        end["gap"],
        end["size"],
        end["reason"],
    )
    assert sum("offset" in line for line in documents) > 50
    assert "could not be read" in err


def test_a_log_that_no_coordinator_could_load_is_reported(tmp_path):
    """With states; as records it is valid."""
    data = gzip.decompress(CONSUMER.read_bytes())
    path = written(tmp_path, data)
    documents = [json.loads(line) for line in rebalance("log", path, "--batches").out.splitlines()]
    heads = [line for line in documents if "baseOffset" in line]
    (gone,) = [head for head in heads if head["baseOffset"] == 107]
    at, end = gone["position"], gone["position"] + gone["size"]
    path.write_bytes(data[:at] + data[end:])

    status, _, err = rebalance("log", path, "--state-only")

    assert 0 == rebalance("log", path).status
    assert 1 == status
    assert "a coordinator could not load it, for " in err


# -- large ones --------------------------------------------------------------------------------

MEMORY_KIB = 350_000
"""What the process may take, far less than the files below."""


def in_little_memory(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in bounded memory."""
    return subprocess.run(
        ["bash", "-c", f'ulimit -v {MEMORY_KIB}; exec "$0" log "$@"', SCRIPT, path, *options],
        capture_output=True,
        text=True,
        check=False,
    )


def sparse(path: Path, size: int, data: bytes = b"") -> Path:
    """Make a file that begins with some bytes and is zeros from there on, on disk next to nothing."""
    path.write_bytes(data)
    os.truncate(path, size)
    return path


@pytest.mark.long
def test_a_gigabyte_of_zeros_is_refused_in_bounded_memory(tmp_path):
    """As no log."""
    done = in_little_memory(sparse(tmp_path / FIRST, 10**9))

    assert (2, "") == (done.returncode, done.stdout)
    assert "zeros: space set aside and not written" in done.stderr


@pytest.mark.long
def test_a_gigabyte_of_zeros_behind_a_log_is_one_gap(tmp_path):
    """As a disk leaves them that was full; compressed, they are read as well."""
    data = batch("g", 1, at=0)
    path = sparse(tmp_path / FIRST, 10**9, data)

    done = in_little_memory(path)
    record, gap = map(json.loads, done.stdout.splitlines())

    assert (1, 0, "zeros", 10**9 - len(data)) == (
        done.returncode,
        record["offset"],
        gap["gap"],
        gap["size"],
    )


@pytest.mark.soak
@pytest.mark.long
def test_a_large_log_is_shown_in_bounded_memory(tmp_path):
    """64 MB of commits, with every record shown."""
    path = tmp_path / FIRST
    with path.open("wb") as file:
        at = 0
        while file.tell() < 64 * 10**6:
            file.write(batch("billing-service", *range(50), at=at))
            at += 50

    done = in_little_memory(path)

    assert (0, at) == (done.returncode, done.stdout.count("\n"))
