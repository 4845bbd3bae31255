"""``rebalance compare`` with a row for each: the variants that a scenario brings along."""

from __future__ import annotations

import pytest

from emulator.report.wording import WIDTH

from ..commands import CRASH, changed, rebalance, written

VARIANTS = """
[[variant]]
name = "as written"

[[variant]]
name = "a commit a second"
set = ["group[billing].settings[auto.commit.interval.ms]=1s"]

[[variant]]
name = "two crashes"
set = ['fault[crash-1].at="20s"', "network.latency=1ms"]
"""
THREE = changed(more=VARIANTS)


def rows(out: str) -> dict[str, list[str]]:
    """Return the cells of each row of the table by its first one, the head under ``""``."""
    lines = [line for line in out.splitlines() if line.startswith("|") and "---" not in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first: rest for first, *rest in cells}


def test_the_variants_of_a_scenario_are_rows(tmp_path):
    """In the order of the file, under the metrics in which they may differ."""
    status, out, err = rebalance("compare", written(tmp_path, THREE), "--jobs", 1)
    table = rows(out)

    assert (0, "") == (status, err)
    assert ["", "as written", "a commit a second", "two crashes"] == list(table)
    assert ["reprocessed", "lost", "rebalances"] == table[""][:3]
    again = {name: int(cells[0]) for name, cells in table.items() if name}
    assert 0 < again["a commit a second"] < again["as written"]
    assert max(map(len, out.splitlines())) <= WIDTH


def test_what_a_seen_set_recognises_is_a_column_where_it_differs():
    """By id it knows copies of the producer, by offset it does not."""
    shorter = ("run_for=40s", "fault[crash-1].at=20s", "topic[orders].repeats={records=5,of=100}")
    options = [option for each in shorter for option in ("--set", each)]
    _, out, _ = rebalance("compare", "producer-repeats", *options, "--jobs", 1)
    table = rows(out)
    place = table[""].index("recognised")

    assert int(table["seen-set by id"][place]) > int(table["seen-set by offset"][place])


@pytest.mark.long
def test_rows_of_which_none_depends_on_the_seed_say_so(tmp_path):
    """A mean of what is always the same is no mean; latencies that are drawn make it one."""
    path, said = written(tmp_path, THREE), "All seeds gave the same figures"
    drawn = "network.latency={ uniform = ['1ms', '9ms'] }"

    _, alike, _ = rebalance("compare", path, "--seeds", 2, "--jobs", 1)
    _, spread, _ = rebalance("compare", path, "--seeds", 2, "--jobs", 1, "--set", drawn)

    assert said in alike
    assert said not in spread


def test_the_overrides_of_a_row_work_with_run(tmp_path):
    """Each row can be played alone."""
    path = written(tmp_path, THREE)

    _, out, _ = rebalance("compare", path, "--jobs", 1)
    change = "group[billing].settings[auto.commit.interval.ms]=1s"
    alone = rebalance("run", path, "--set", change, "--json").document

    assert f"a commit a second: --set '{change}'" in out
    assert rows(out)["a commit a second"][0] == str(alone["metrics"]["reprocessed"])


def test_why_is_said_of_every_row(tmp_path):
    """With the causes of the ledger."""
    _, out, _ = rebalance("compare", written(tmp_path, THREE), "--jobs", 1)

    assert 3 == out.count("Causes, in records, ")
    assert 3 == out.count("crashed while uncommitted")


@pytest.mark.long
def test_several_seeds_are_shown_as_means(tmp_path):
    """One number a cell."""
    options = ("--jobs", 1, "--seeds", 2)

    _, out, _ = rebalance("compare", written(tmp_path, THREE), *options)
    document = rebalance("compare", written(tmp_path, THREE), *options, "--json").document

    first = document["variants"][0]
    assert "means of 2 seeds" in " ".join(out.split())
    assert float(rows(out)["as written"][0]) == first["summary"]["reprocessed"]["mean"]["value"]


@pytest.mark.parametrize("options", [("--columns",), ("--with", "static", "--with", "eager")])
def test_columns_are_for_those_who_ask(tmp_path, options):
    """By the option, or by settings of one's own."""
    _, out, _ = rebalance("compare", written(tmp_path, THREE), "--jobs", 1, *options)

    assert "difference" in out
    assert "What each row changes" not in out


def test_settings_of_ones_own_can_be_rows_too(tmp_path):
    """Where there are many."""
    names = ("eager", "static", "cooperative", "as-written")
    options = [option for name in names for option in ("--with", name)]

    _, out, _ = rebalance("compare", written(tmp_path), "--jobs", 1, "--rows", *options)

    assert ["", *names] == list(rows(out))


def test_a_variant_that_leads_nowhere_is_refused(tmp_path):
    """With the nearest path."""
    text = THREE.replace("network.latency", "network.latencies")

    status, out, err = rebalance("compare", written(tmp_path, text), "--jobs", 1)

    assert (2, "") == (status, out)
    assert "no such key; nearest: network.latency" in err


def test_a_run_plays_the_scenario_as_it_is_written(tmp_path):
    """Variants are for comparisons."""
    plain = rebalance("run", written(tmp_path, CRASH, "plain.toml"), "--json").document
    with_variants = rebalance("run", written(tmp_path, THREE), "--json").document

    assert plain["digest"] == with_variants["digest"]


@pytest.mark.long
def test_what_monitors_missed_has_a_column():
    """Nothing else differs between windows of commits."""
    table = rows(rebalance("compare", "u2-monitor-window", "--jobs", 1).out)
    column = table[""].index("no alarm")

    assert (table["every minute"][column], table["every 5 s"][column]) == ("2", "0")
