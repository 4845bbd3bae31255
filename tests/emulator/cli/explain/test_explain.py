"""``rebalance explain``: one entry of a ledger, step by step."""

from __future__ import annotations

import pytest

from ..commands import changed, rebalance, written


def test_an_entry_is_explained_step_by_step(tmp_path):
    """The owner, the commit, the fault, the next owner, and its start."""
    status, out, err = rebalance("explain", written(tmp_path), "D1")

    texts = [
        "cause:    crashed while uncommitted",
        "root:     billing-1 crashes at 0:00:18.000 (crash-1)",
        "the coordinator appends commit",
        "poll",
        "0:00:18.000 * fault crash-1: billing-1 crashes",
        "is removed from billing: session expired",
        "billing is stable in generation 2",
        "* evidence of the cause",
    ]
    assert (0, "") == (status, err)
    assert sorted(map(out.index, texts)) == [out.index(text) for text in texts]


@pytest.mark.long
def test_commits_and_failovers_have_their_place_in_the_offsets_log(tmp_path):
    """Log offset, high watermark, leader epoch and broker, in words and as JSON."""
    name = "coordinator-dies-in-commit"

    _, out, _ = rebalance("explain", name, "D1")
    document = rebalance("explain", name, "D1", "--json").document

    said = " ".join(out.split())
    lines = [line for line in document["lines"] if line["log"] is not None]
    (lost,) = [line for line in lines if line["shown"] and " appends commit " in line["text"]]
    (loaded,) = [line for line in lines if " loaded " in line["text"]]
    where = lost["log"]
    assert where["log_offset"] == where["high_watermark"] == loaded["log"]["log_offset"]
    assert where["leader_epoch"] + 1 == loaded["log"]["leader_epoch"]
    assert {where["partition"]} == {line["log"]["partition"] for line in lines}
    assert (
        f"at log offset {where['log_offset']} of __consumer_offsets-{where['partition']} (high "
        f"watermark {where['high_watermark']}, leader epoch {where['leader_epoch']} on broker "
        f"{where['broker']})"
    ) in said
    assert f"log end {where['log_offset']}, high watermark" in said
    assert f"the controller fences broker {where['broker']}" in said


def test_the_entry_is_that_of_the_same_seed_and_settings(tmp_path):
    """Ids are stable, so that run and explain speak of the same thing."""
    path = written(tmp_path, changed(('at = "18s"', 'between = ["15s", "20s"]')))
    key = "group[billing].settings[auto.commit.interval.ms]=2s"
    same = ("--seed", 4, "--set", key, "--json")

    ledger = rebalance("run", path, *same).document["ledger"]
    document = rebalance("explain", path, ledger[-1]["id"], *same).document

    assert ledger[-1] == document["entry"]
    assert {link["event"] for link in ledger[-1]["chain"]} & {
        line["event"] for line in document["lines"] if line["shown"]
    }


def test_polls_of_a_few_records_each_are_one_line(tmp_path):
    """A screen of polls hides the rest."""
    _, out, _ = rebalance("explain", written(tmp_path), "D1")

    assert 1 == sum(
        " polls have returned " in line and "to billing-1" in line for line in out.splitlines()
    )
    assert len(out.splitlines()) < 35


@pytest.mark.long
def test_a_record_names_its_entry_and_the_report_the_first_one(tmp_path):
    """Whoever is on call has a topic, a partition and an offset."""
    path = written(tmp_path)
    named = rebalance("explain", path, "D1", "--json").document
    place = f"{named['entry']['topic']}-{named['entry']['partition']}"
    record = f"{place}:{named['entry']['last']}"
    example = rebalance("run", path).out.partition(f"rebalance explain {path} ")[2].split()[0]

    assert named == rebalance("explain", path, record, "--json").document
    assert example == rebalance("explain", path, "--json").document["entry"]["id"]


def test_a_record_in_no_entry_is_refused_with_those_of_its_partition(tmp_path):
    """It was processed once."""
    path = written(tmp_path)
    entry = rebalance("explain", path, "D1", "--json").document["entry"]
    place = f"{entry['topic']}-{entry['partition']}"
    status, out, err = rebalance("explain", path, f"{place}:{entry['last'] + 1}")

    assert (2, "") == (status, out)
    assert f"no ledger entry has the record {place}:{entry['last'] + 1}; of {place} D" in err
    assert f"has {entry['first']}..{entry['last']}" in err


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("orders-99:10", "there is no partition orders-99; orders has the partitions 0 to "),
        ("t-1:10", "there is no topic t; the scenario has orders"),
    ],
)
def test_a_record_of_an_unknown_partition_is_refused(tmp_path, record, message):
    """The ledger is not what lacks it."""
    status, out, err = rebalance("explain", written(tmp_path), record)

    assert (2, "", True) == (status, out, message in err)


def test_the_letter_may_be_small(tmp_path):
    """Upper and lower case are equal."""
    path = written(tmp_path)

    assert rebalance("explain", path, "D1") == rebalance("explain", path, "d1")


def test_an_unknown_entry_is_refused_with_those_there_are(tmp_path):
    """The message saves another run."""
    status, out, err = rebalance("explain", written(tmp_path), "D99", "--seed", 3)

    assert (2, "") == (status, out)
    assert "seed 3: no ledger entry 'D99'; there are D1 to D2" in err


def test_a_record_of_thousands_of_digits_is_an_unknown_entry(tmp_path):
    """No log has it, and Python does not read the number."""
    status, out, err = rebalance("explain", written(tmp_path), f"orders-1:{'9' * 5_000}")

    assert (2, "") == (status, out)
    assert "no ledger entry 'orders-1:999" in err


def test_a_partition_in_place_of_an_entry_is_named_as_it_was_given(tmp_path):
    """Not in upper case, as entries are."""
    status, _, err = rebalance("explain", written(tmp_path), "orders-1", "--seed", 3)

    assert (2, True) == (status, "no ledger entry 'orders-1'; there are D1 to D2" in err)


@pytest.mark.parametrize(
    ("entry", "message"),
    [(["D1"], "none: the ledger is empty"), ([], "nothing to explain: the ledger is empty")],
)
def test_an_empty_ledger_has_nothing_to_explain(entry, message):
    """The command says so."""
    status, _, err = rebalance("explain", "quiet", *entry, "--set", "run_for=15s")

    assert 2 == status
    assert message in err


def test_times_are_clock_times_where_the_scenario_has_a_start(tmp_path):
    """As on the run's own screen."""
    start = ('run_for = "40s"', 'run_for = "40s"\nstart = 2026-05-04T09:00:00Z')

    _, out, _ = rebalance("explain", written(tmp_path, changed(start)), "D1")

    assert "  2026-05-04 09:00:18.000 * fault crash-1: billing-1 crashes" in out
