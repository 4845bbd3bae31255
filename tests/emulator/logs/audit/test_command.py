"""``rebalance audit``: what it prints, writes and refuses."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from emulator.logs.audit import output

from ...cli.commands import rebalance
from .logs import Row, records, write
from .tables import rows

REPEAT = [*records(0, 30, "m1", 0), *records(20, 50, "m2", 100)]
HOLE = [*records(0, 30, "m1", 0), *records(35, 50, "m2", 100)]


@pytest.fixture
def log(tmp_path) -> Path:
    """Return a log in which ten records are processed again."""
    return write(tmp_path / "log.parquet", REPEAT)


def test_duplicates_are_reported(log):
    """How many, which, by whom and when."""
    status, out, err = rebalance("audit", log)

    assert (0, "") == (status, err)
    assert "60 records were processed (50 distinct): 10 reprocessed, 0 lost." in out
    assert "D1: orders-0 20..29 by m1 at 2023-11-14T22:13:40.000Z, reprocessed by m2 at" in out
    assert "m1 > m2" in out
    assert "With the group's offsets log (--commits) more causes can be found." in out
    assert "Read by: 1 process" in out


def test_losses_are_reported(tmp_path):
    """Between which consumers, and which records are only unread."""
    (tmp_path / "ends").write_text("orders:0:70\norders:1:5\n")
    (tmp_path / "begins").write_text('{"orders": [0, 0]}')
    path = write(tmp_path / "log.parquet", HOLE)
    answer = rebalance(
        *("audit", path, "--ends", tmp_path / "ends"), *("--begins", tmp_path / "begins", "--json")
    )
    document = answer.document

    assert 0 == answer.status
    assert (0, 5, 25) == (document["reprocessed"], document["lost"], document["unread"])
    (entry,) = document["ledger"]
    assert ("L1", "lost", 30, 34, "m1", "m2") == tuple(
        entry[name] for name in ("id", "kind", "first", "last", "first_owner", "second_owner")
    )


@pytest.mark.parametrize(
    ("bound", "status"),
    [
        ("reprocessed <= 10", 0),
        ("reprocessed < 10", 1),
        ("lost = 0", 0),
        ("reprocessed.by_cause[unknown] == 10", 0),
        ("reprocessed.by_cause[rewind] > 0", 1),
    ],
)
def test_an_expectation_decides_the_status(log, bound, status):
    """As in a scenario."""
    answer = rebalance("audit", log, "--expect", bound)

    assert status == answer.status
    assert ("FAILED" if status else "ok   ") in answer.out


def test_tables_json_and_manifest_are_written(log, tmp_path):
    """Whole, and over an earlier audit."""
    target = tmp_path / "audit"
    for _ in range(2):
        answer = rebalance("audit", log, "-o", target, "--json")
        assert 0 == answer.status
    entries = pq.read_table(target / "entries.parquet")
    document = json.loads((target / "audit.json").read_text())
    manifest = json.loads((target / "manifest.json").read_text())

    assert answer.document == document
    assert document["ledger"] == entries.to_pylist()
    assert document["partitions"] == pq.read_table(target / "partitions.parquet").to_pylist()
    assert (10, "4.4.0") == (manifest["reprocessed"], manifest["kafka"])
    assert b"4.4.0" == entries.schema.metadata[b"kafka"]
    assert ["audit", "log.parquet"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_folder_that_holds_something_else_is_left_alone(log, tmp_path):
    """Also a file, and a folder in a folder that is not there."""
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("dear")

    for path in (target, log, tmp_path / "no" / "where"):
        status, out, err = rebalance("audit", log, "-o", path)
        assert (2, "") == (status, out)
        assert f"-o {path}: cannot be written: " in err
    assert ["thesis.txt"] == [path.name for path in target.iterdir()]


def test_a_full_disk_leaves_nothing(log, tmp_path, monkeypatch):
    """It is reported in one line."""

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output, "_write_table", no_room)
    status, out, err = rebalance("audit", log, "-o", tmp_path / "audit")

    assert (2, "") == (status, out)
    assert "cannot be written: No space left on device; nothing was written" in err
    assert ["log.parquet"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--column", "offset"], "--column offset: expected NAME=COLUMN"),
        (["--column", "offset=ofset"], "has no column 'ofset'"),
        (["--t-end", "noon"], "--t-end: 'noon' is not a time"),
        (["--group", "billing"], "so it needs --commits"),
        (["--commits", "nowhere"], "--commits nowhere: no such file or folder"),
        (["--ends", "nowhere"], "--ends nowhere: cannot be read"),
        (["--expect", "repeats <= 1"], "there is no figure 'repeats'"),
        (["--expect", "reprocessed"], 'such as "reprocessed <= 100"'),
        (["--expect", f"lost == {'9' * 5_000}"], 'such as "reprocessed <= 100"'),
        (["--expect", "lost.by_cause[rewnd] == 0"], 'did you mean "rewind"?'),
        (["--engine", "pool", "--master", "local[2]"], "--master is for Spark"),
        (["--engine", "pool", "--format", "table"], "omit --engine pool"),
    ],
)
def test_bad_options_are_refused(log, arguments, said):
    """With what was given and what is allowed, and status 2."""
    status, out, err = rebalance("audit", log, *arguments)

    assert (2, "") == (status, out)
    assert said in err


def test_a_log_of_an_unknown_extension_can_be_given_its_format(tmp_path):
    (tmp_path / "processed.log").write_text("{}")
    status, _, err = rebalance("audit", tmp_path / "processed.log")

    assert 2 == status
    assert "expected .parquet, .jsonl, .ndjson, .json, .csv, or give --format parquet" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no partition"),
        ("orders 0 5", "line 1 is 'orders 0 5'"),
        ('{"orders": [-1]}', "-1 is not an offset of orders-0"),
        ('{"orders": 5}', "'orders' is not a partition"),
        ('{"orders-0": ', "expected lines such as orders:0:471"),
    ],
)
def test_offsets_that_are_none_are_refused(log, tmp_path, text, said):
    """With examples of both forms."""
    path = tmp_path / "ends.txt"
    path.write_text(text)
    status, _, err = rebalance("audit", log, "--ends", path)

    assert 2 == status
    assert said in err


def test_the_terminal_says_that_nothing_happened(tmp_path):
    """In one sentence."""
    rows = [Row("orders", 0, 0, 9, "m1", 10**15, 10**15 + 5)]
    _, out, _ = rebalance("audit", write(tmp_path / "log.parquet", rows))

    assert "9 records were processed: none was reprocessed, none was lost." in out


def test_commits_give_causes_and_unread_records(log, tmp_path):
    """The latter only with a cut; a partition that is not in the log has no losses."""
    commits = rows(("billing", 0, 20, 40), ("billing", 0, 60, 200), ("billing", 7, 900, 40))
    pq.write_table(commits, tmp_path / "commits.parquet")
    arguments = ("audit", log, "--commits", tmp_path / "commits.parquet", "--json")
    without = rebalance(*arguments).document
    by_cut = rebalance(*arguments, "--t-end", "2023-11-14T23:00:00Z").document

    assert ("billing", 10, 0) == (without["group"], without["reprocessed"], without["lost"])
    assert "20 was committed" == without["ledger"][0]["detail"]
    assert 10 == by_cut["lost"]
    assert {"unknown": 10, "committed before processed": 10} == by_cut["by_cause"]
    assert [50, 59] == [by_cut["ledger"][1][name] for name in ("first", "last")]


@pytest.mark.parametrize("option", ["--ends", "--begins"])
def test_offsets_of_other_topics_are_refused(log, tmp_path, option):
    """They would look like partitions without work."""
    (tmp_path / "offsets").write_text("prod.orders:0:70\n")
    status, out, err = rebalance("audit", log, option, tmp_path / "offsets")

    assert (2, "") == (status, out)
    assert (
        f'{option}: its topics are "prod.orders", those of the log "orders": use the topic names'
        in err
    )


def test_commits_of_other_topics_are_refused(log, tmp_path):
    """They would look as if nothing was committed."""
    commits = rows(("billing", 0, 20, 40)).set_column(1, "topic", [["refunds"]])
    pq.write_table(commits, tmp_path / "commits.parquet")
    status, _, err = rebalance("audit", log, "--commits", tmp_path / "commits.parquet")

    assert 2 == status
    assert '--commits, of group billing: its topics are "refunds", those of the log "orders"' in err


def test_gaps_of_the_given_offsets_are_reported(tmp_path):
    """Partitions without an end, and records before the first row."""
    log = write(tmp_path / "log.parquet", [*REPEAT, *records(5, 9, "m1", 0, partition=1)])
    (tmp_path / "ends").write_text("orders:0:50\n")
    (tmp_path / "begins").write_text("orders:0:0\norders:1:0\n")
    ends = ("audit", log, "--ends", tmp_path / "ends")
    without = rebalance(*ends).out
    known = rebalance(*ends, "--begins", tmp_path / "begins").out

    assert 'No end is given of "orders-1": unread records there are not counted.' in without
    assert "with begin offsets" in without
    assert "with begin offsets" not in known
    assert "No end is given" not in rebalance("audit", log).out


def test_advice_is_printed(log, tmp_path):
    """Against each known cause, and the next command."""
    segments = tmp_path / "imported"
    (segments / "commits").mkdir(parents=True)
    commits = rows(("billing", 0, 30, 40), ("billing", 0, 20, 50))
    pq.write_table(commits, segments / "commits" / "c.parquet")
    _, out, _ = rebalance("audit", log, "--commits", segments)
    _, kept, _ = rebalance("audit", log, "--commits", segments, "-o", tmp_path / "audit")

    assert "Reprocessed: 10 records, at 2023-11-14T22:15:00.000Z" in out
    assert "  - rewind: Find the member that committed the lower offset" in out
    assert "Next:    -o DIR writes the 1 range as Parquet and JSON" in out
    assert f"rebalance import {segments} --scenario billing -o group.toml" in out
    assert "Next:" not in kept


def test_names_from_a_log_cannot_touch_the_terminal(tmp_path):
    """Not on the screen, and not in what is refused."""
    named = [row._replace(topic="\x1b[31mred") for row in REPEAT]
    log = write(tmp_path / "log.parquet", named)
    (tmp_path / "ends").write_text("orders:0:50\n")

    assert "\x1b" not in rebalance("audit", log).out
    assert "\x1b" not in rebalance("audit", log, "--ends", tmp_path / "ends").err
