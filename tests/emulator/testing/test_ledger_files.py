"""A ledger kept in a file, and how a later one differs from it."""

from __future__ import annotations

import json

import pytest

import emulator
from emulator.errors import RefusedError
from emulator.testing.ledger_files import LedgerFiles
from emulator.testing.playing import play_seeds
from tests.emulator.small_scenario import SMALL


@pytest.fixture(scope="module")
def runs():
    """Return a run with one entry: 15 records of orders-1."""
    return play_seeds(emulator.loads(SMALL), [0])


@pytest.fixture
def written(runs, tmp_path):
    """Return the path of the file of these runs."""
    assert LedgerFiles(tmp_path, update=True).differences("kept/small.json", runs) == []
    return tmp_path / "kept" / "small.json"


def differences(path, runs):
    """Return the differences from a file."""
    return LedgerFiles(path.parent, update=False).differences(path.name, runs)


def test_the_file_that_was_written_has_no_difference(written, runs):
    """One entry a line, without times."""
    assert differences(written, runs) == []
    lines = written.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "orders-1" in line] == [
        (
            '    {"kind": "reprocessed", "group": "billing", "partition": "orders-1", "first": 55, '
            '"last": 69, "cause": "crashed while uncommitted", "detail": "", '
            '"first_owner": "billing-1", "second_owner": "billing-0", "root": "crash-1"}'
        )
    ]


def test_several_seeds_and_an_empty_ledger_are_written(runs, tmp_path):
    """As JSON."""
    quiet = play_seeds(emulator.loads(SMALL, overrides=["run_for=5s", "fault=[]"]), [3])
    LedgerFiles(tmp_path, update=True).differences("two.json", [*runs, *quiet])

    document = json.loads((tmp_path / "two.json").read_text())
    assert {seed: ledger["reprocessed"] for seed, ledger in document.items()} == {"0": 15, "3": 0}
    assert document["3"]["entries"] == []


def change(path, edit):
    """Edit the ledger of seed 0 in a file."""
    document = json.loads(path.read_text())
    edit(document["0"])
    path.write_text(json.dumps(document))


def test_an_entry_that_is_new_and_one_that_is_gone(written, runs):
    """With their totals."""

    def edit(ledger):
        ledger["reprocessed"] = 14
        ledger["entries"][0]["last"] = 68

    change(written, edit)

    cause = "by billing-1 then billing-0: crashed while uncommitted"
    assert differences(written, runs) == [
        "reprocessed is 15, was 14",
        f"new: orders-1 55..69 of billing, 15 records reprocessed, {cause}",
        f"gone: orders-1 55..68 of billing, 14 records reprocessed, {cause}",
    ]


def test_another_cause_of_the_same_records(written, runs):
    """And another owner."""

    def edit(ledger):
        ledger["entries"][0] |= {"cause": "rewind", "second_owner": None}

    change(written, edit)

    assert differences(written, runs) == [
        (
            "orders-1 55..69 of billing, reprocessed: cause is crashed while uncommitted, was rewind; "
            "second owner is billing-0, was None"
        )
    ]


def test_other_seeds_are_a_difference(written, runs):
    """They are named."""
    more = [*runs, *play_seeds(emulator.loads(SMALL, overrides=["run_for=15s"]), [4])]

    assert differences(written, more) == ["the file has the seeds 0; the test has 0, 4"]


def test_a_file_that_does_not_exist_or_is_not_json_is_refused(written, runs):
    """With what to do."""
    with pytest.raises(RefusedError, match="no such file; pytest --rebalance-update writes it"):
        differences(written.with_name("none.json"), runs)
    written.write_text("{")
    with pytest.raises(RefusedError, match="cannot be used"):
        differences(written, runs)
