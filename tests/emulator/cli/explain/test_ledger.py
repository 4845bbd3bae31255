"""``rebalance ledger``: all entries of a ledger, and the entry that ``rebalance run`` points to."""

from __future__ import annotations

import json
import re

import pytest

from tests.emulator.cli.commands import CRASH, rebalance


@pytest.fixture
def file(tmp_path):
    """Return the path of a scenario with two entries."""
    path = tmp_path / "crash.toml"
    path.write_text(CRASH.replace("lost = 0", ""), encoding="utf-8")
    return str(path)


def test_every_entry_is_listed_with_owners_and_root(file):
    """By kind; the counts add up to those of the run."""
    status, out, _ = rebalance("ledger", file)

    assert status == 0
    document = json.loads(rebalance("ledger", file, "--json")[1])
    assert re.findall(r"^  ([DLTP]\d+) ", out, re.MULTILINE) == [
        entry["id"] for entry in document["ledger"]
    ]
    again = [entry for entry in document["ledger"] if entry["kind"] == "reprocessed"]
    assert len(again) == 2
    assert f"Reprocessed: {document['reprocessed']} records, 2 entries" in out
    assert out.count("crashed while uncommitted\n") == 2
    assert out.count("by billing-1 at 0:00:18.000, reprocessed by billing-0") == 2


def test_kinds_can_be_chosen(file):
    """None of them: it says so."""
    assert "In flight" not in rebalance("ledger", file, "--kind", "reprocessed")[1]
    assert rebalance("ledger", file, "--kind", "lost")[1].endswith("\nNo entries.\n")


def test_the_run_points_to_the_entry_it_shows_and_to_the_ledger(file):
    """Both with its seed."""
    out = rebalance("run", file, "--seed", "1")[1]

    (example,) = re.findall(r"e\.g\. (D\d+): ", out)
    assert f"The events that led to {example}: rebalance explain {file} {example} --seed 1\n" in out
    assert re.search(
        rf"^All \d+ entries: rebalance ledger {re.escape(file)} --seed 1$", out, re.MULTILINE
    )


@pytest.mark.long
def test_many_entries_of_one_cause_are_shown_together():
    """The records add up to those of the kind; --each lists every entry."""
    more = ("--set", "topic[orders].partitions=6")
    asked = ("ledger", "batch-discarded", *more, "--kind", "lost")
    out, each = rebalance(*asked)[1], rebalance(*asked, "--each")[1]
    records = re.findall(r"^  L\d+ +([\d,]+) ", out, re.MULTILINE)

    assert len(records) <= 12
    assert 80 == sum(int(number.replace(",", "")) for number in records)
    assert "--each lists every one." in out
    assert 80 == len(re.findall(r"^  L\d+ ", each, re.MULTILINE))
