"""``rebalance log``: what segments hold, as lines of JSON, and what they say of groups."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from emulator.cli.log import log
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record, encode
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.header import Producer
from protocols.offsets_topic.segments.record import LogRecord

from ..commands import rebalance

KEPT = Path(__file__).parents[3] / "captures" / "offsets-log"
CONSUMER = KEPT / "__consumer_offsets-4.00000000000000000000.log.gz"
STATIC = KEPT / "__consumer_offsets-11.00000000000000000000.log.gz"
GROUP = "kip848-crash-1-cad7p"
FIRST, SECOND = "00000000000000000000.log", "00000000000000000100.log"


def batch(group: str, *offsets: int, at: int, producer: int = -1) -> bytes:
    """Return the bytes of a batch of commits, one partition after the other."""
    records = [
        LogRecord(
            at + n,
            1_000,
            *encode(Record(OffsetCommitKey(group, "t", n), OffsetCommitValue(offset, 1_000))),
        )
        for n, offset in enumerate(offsets)
    ]
    return encode_batch(records, producer=Producer(producer, 0))


def lines(*arguments: object, given: bytes = b"") -> list[dict]:
    """Return the lines of a call that ends well and has nothing to say beside them."""
    status, out, err = rebalance("log", *arguments, given=given)
    assert (0, "") == (status, err)
    return [json.loads(line) for line in out.splitlines()]


def test_the_partition_of_a_group_needs_no_file():
    """As ``GroupCoordinatorService.partitionFor``; the answer depends on the partition count."""
    status, out, err = rebalance("log", "--where", "--group", "my-group", "--group", GROUP)
    assert (0, "my-group  __consumer_offsets-12", "") == (status, out.splitlines()[0], err)
    assert 2 == len(out.splitlines())
    few = rebalance("log", "--where", "--group", "my-group", "--partitions", "5")
    assert (0, "my-group  __consumer_offsets-2\n", "") == few


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["--where"], "--where needs the id of a group"),
        (["--where", "--group", "a", "some.log"], "--where reads no file"),
        (["--where", "billing"], "partitions only; did you mean --group billing?"),
        (["--where", "--group", "a", "--table"], "--where reads no file"),
        ([], "FILE is missing"),
    ],
)
def test_a_question_without_its_subject_is_refused(call, said):
    status, out, err = rebalance("log", *call)
    assert (2, "") == (status, out)
    assert said in err


def test_every_record_is_a_line():
    """In the order of the log."""
    shown = lines(STATIC)

    assert list(range(len(shown))) == [line["offset"] for line in shown]
    assert "log" not in shown[0]


def test_the_input_is_a_segment_too():
    """Compressed or not."""
    zipped = STATIC.read_bytes()

    assert lines(STATIC) == lines("-", given=zipped)
    assert lines(STATIC) == lines("-", given=gzip.decompress(zipped))


def test_lines_of_several_logs_say_which(tmp_path):
    """By the partition's folder, or the part of the file name before the base offset."""
    both = lines(KEPT)

    assert [f"{KEPT}/__consumer_offsets-11", f"{KEPT}/__consumer_offsets-4"] == list(
        dict.fromkeys(line["log"] for line in both)
    )
    assert len(lines(STATIC)) + len(lines(CONSUMER)) == len(both)


def test_segments_of_one_partition_are_one_log(tmp_path):
    """Read in order of base offsets; the second goes on where the first ended."""
    (tmp_path / SECOND).write_bytes(batch("g", 7, 8, at=100))
    (tmp_path / FIRST).write_bytes(batch("g", 5, at=3))

    calls = [(tmp_path,), (tmp_path / SECOND, tmp_path / FIRST)]
    for call in calls:
        shown = lines(*call, "--follow-state")
        assert [3, 100, 101] == [line["offset"] for line in shown]
        assert {"t": {"0": 7, "1": 8}} == shown[-1]["after"]["g"]["offsets"]


def test_only_groups_asked_for_are_shown():
    """One or several."""
    one = lines(CONSUMER, "--group", GROUP)
    two = lines(CONSUMER, "--group", GROUP, "--group", "cds")

    assert (100, 142) == (len(one), len(two))
    assert [line for line in two if GROUP in json.dumps(line)] == one


def test_a_missing_group_is_reported():
    """With the partition whose log would have it."""
    status, out, err = rebalance("log", CONSUMER, "--group", "nobody")

    assert (0, "") == (status, out)
    assert (
        "no record of group 'nobody'; with 50 partitions its records are in partition 45\n" == err
    )


def test_headers_of_batches_come_before_their_records():
    """Together they cover the file."""
    shown = [line for line in lines(CONSUMER, "--batches") if "baseOffset" in line]
    ends = [line["position"] + line["size"] for line in shown]

    assert [0, *ends[:-1]] == [line["position"] for line in shown]
    assert len(gzip.decompress(CONSUMER.read_bytes())) == ends[-1]


def test_state_only_is_what_following_ends_with():
    """One line a group that is there."""
    last = {}
    for line in lines(CONSUMER, "--follow-state"):
        last.update(line["after"])
    groups = {line.pop("group"): line for line in lines(CONSUMER, "--state-only")}

    assert 2 == len(groups)
    assert groups == {name: words for name, words in last.items() if words["state"] != "Dead"}


def test_a_group_asked_for_is_shown_though_it_is_gone():
    """As Dead."""
    (line,) = lines(CONSUMER, "--group", GROUP, "--state-only")

    assert {"group": GROUP, "type": None, "state": "Dead", "offsets": {}} == line


def test_the_table_is_for_people():
    """A row a group; an empty log has none."""
    status, out, err = rebalance("log", CONSUMER, "--table")

    assert (0, "") == (status, err)
    assert f"{KEPT}/__consumer_offsets-4: 2 groups" == out.splitlines()[0]
    rows = [" ".join(line.split()) for line in out.splitlines()[-2:]]
    assert ["coordinator-kill-4-69m5z classic Empty 2 0 0"] == rows[:1]
    assert rows[1].startswith("kip848-crash-12-kgzyb consumer Empty 7 0 0")
    assert f"{KEPT}/__consumer_offsets-11: 0 groups\n" == rebalance("log", STATIC, "--table").out


def test_the_table_shows_operations_in_progress(tmp_path):
    """A target that is behind, offsets that are pending; special characters are escaped."""
    cut = next(
        line["position"] for line in lines(CONSUMER, "--batches") if line.get("baseOffset", 0) > 50
    )
    path = tmp_path / "cut.log"
    path.write_bytes(
        gzip.decompress(CONSUMER.read_bytes())[:cut]
        + batch("a\nb", 1, 2, at=90, producer=7)
        + batch("a\nb", 1, at=92)
    )
    rows = [" ".join(line.split()) for line in rebalance("log", path, "--table").out.splitlines()]

    assert f"{GROUP} consumer Reconciling 4 3 6" in rows
    assert "a\\nb classic Empty 0 1 2" in rows


def test_states_of_a_log_whose_beginning_is_missing_are_said_to_be(tmp_path):
    """Older segments may have groups without newer records."""
    (tmp_path / SECOND).write_bytes(batch("g", 7, at=100))

    for option in ("--state-only", "--follow-state"):
        status, _, err = rebalance("log", tmp_path, option)
        assert 0 == status
        assert "begins at offset 100: the state of groups from older segments" in err
    assert "" == rebalance("log", tmp_path).err


def test_batches_do_not_go_with_states_only():
    """There would be nothing to show them beside."""
    status, out, err = rebalance("log", CONSUMER, "--state-only", "--batches")

    assert (2, "") == (status, out)
    assert "--batches shows batches" in err


@pytest.mark.long
def test_a_reader_that_goes_away_ends_it(tmp_path):
    """``| head``: its lines, no traceback, and nothing read to the end."""
    path = tmp_path / "many.log"
    path.write_bytes(b"".join(batch("g", *range(100), at=100 * n) for n in range(200)))
    script = Path(sys.executable).parent / "rebalance"

    done = subprocess.run(
        ["bash", "-c", f'"{script}" log "{path}" | head -2; echo "${{PIPESTATUS[0]}}"'],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (3, "0") == (done.stdout.count("\n"), done.stdout.splitlines()[-1])
    assert "" == done.stderr


@pytest.mark.long
@pytest.mark.parametrize("only_groups", [False, True])
def test_memory_does_not_grow_with_the_log(tmp_path, only_groups):
    """A log six times as long takes as much."""
    peaks = []
    for count in (10, 60):
        path = tmp_path / f"{count}.log"
        path.write_bytes(b"".join(batch("g", *range(100), at=100 * n) for n in range(count)))
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            tracemalloc.start()
            log([path], batches=not only_groups, state_only=only_groups)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    assert peaks[1] < peaks[0] + 2**20
