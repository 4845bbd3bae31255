"""What a user writes that is nearly right: the refusal shows the form that is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator

from ..commands import CRASH, rebalance, written

BOUND = '"reprocessed.by_cause[crashed]" = 0\n'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "group.billing.settings.max.poll.records=10",
            "nearest: group[billing].settings[max.poll.records]",
        ),
        ("group.billing.members=3", "nearest: group[billing].members"),
        ("topic.orders.rate=3/s", "nearest: topic[orders].rate"),
        ("group[billing].static=True", "allowed is true or false"),
        ("topic[orders].rate=300 per sec", 'did you mean "300/s"?'),
    ],
)
def test_a_path_or_a_value_that_is_nearly_right(tmp_path, given, said):
    """Whatever the part that is wrong."""
    result = rebalance("run", written(tmp_path), "--set", given)

    assert 2 == result.status
    assert said in result.err


def test_a_wrong_override_of_an_expectation_blames_no_line_of_the_file(tmp_path):
    """With dots or brackets; a wrong one of the file has its line."""
    path = written(tmp_path, CRASH + 'reprocessed = "<= 900"\n')
    for given in ("expect.reprocesed=0", "expect[reprocesed]=0"):
        assert f"{path}: expect[reprocesed]" in rebalance("run", path, "--set", given).err

    wrong = written(tmp_path, CRASH + "reprocesed = 0\n")
    assert f"{wrong}:{CRASH.count(chr(10)) + 1}: expect" in rebalance("run", wrong).err


def test_a_table_of_metrics_lists_its_entries(tmp_path):
    """And the one that has the word; without quotes the key is no TOML."""
    said = rebalance("run", written(tmp_path, CRASH + BOUND)).err
    bare = rebalance("run", written(tmp_path, CRASH + BOUND.replace('"', ""))).err

    assert 'did you mean "crashed while uncommitted"?' in said
    assert "Its entries: " in said
    assert "revoked while uncommitted" in said
    assert 'needs quotes, "reprocessed.by_cause[crashed]"' in bare


@pytest.mark.parametrize("word", ["True", "False"])
def test_booleans_of_other_languages_are_spelt_as_in_toml(tmp_path, word):
    """TOML has them in lower case."""
    text = CRASH.replace("members =", f"static = {word}\nmembers =")

    assert f"write {word.lower()}" in rebalance("run", written(tmp_path, text)).err


def test_a_record_without_its_partition_names_the_entries_that_may_be_meant(tmp_path):
    """A topic has many records with one offset."""
    path = written(tmp_path)
    entry = rebalance("run", path, "--json").document["ledger"][0]
    said = rebalance("explain", path, f"{entry['topic']}:{entry['first']}").err

    assert f"write {entry['topic']}-PARTITION:{entry['first']}" in said
    assert f"{entry['id']} ({entry['topic']}-{entry['partition']})" in said


def test_a_preset_and_an_option_under_another_name(tmp_path):
    """Kafka's word for a protocol, and the common word for a trace."""
    path = written(tmp_path)

    assert 'did you mean "eager"?' in rebalance("compare", path, "--with", "classic").err
    assert "--perfetto" in rebalance("run", path, "--trace", "x.json").err


def test_a_captured_run_is_recognised_before_the_second_log_is_missed():
    """It has no offsets log that could follow."""
    run = Path(emulator.__file__).parent / "conformance" / "example" / "crash-range-auto" / "run-22"
    trace = run / "m1.1.jsonl.gz"

    assert f"{trace}: a file of a captured run" in rebalance("blame", trace).err
    assert f"rebalance verify {run}" in rebalance("blame", trace).err
