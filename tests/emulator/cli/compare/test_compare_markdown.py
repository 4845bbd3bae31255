"""``rebalance compare --markdown``: one table for a design review, whatever its width."""

from __future__ import annotations

import re

import pytest

from emulator.metrics.catalogue import VALUES

from ..commands import changed, rebalance, written

FOUR = ("--with", "eager", "--with", "cooperative", "--with", "static", "--with", "kip848")
QUICK = ("compare", "kip848-slow-handover", "--markdown", "--jobs", "1")


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a page: rows of cells, without the line below the head."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if not line.startswith("|"):
            found += [[]] if found[-1] else []
        elif not re.fullmatch(r"[|:-]+", line):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [table for table in found if table]


@pytest.fixture(scope="module")
def page() -> str:
    """Compare four protocols over three seeds."""
    return rebalance(*QUICK, *FOUR, "--seeds", "3").out


@pytest.mark.long
def test_four_protocols_stand_in_one_table(page):
    """However wide the terminal is."""
    first, _causes = tables(page)

    assert ["", "eager", "cooperative", "static", "kip848"] == first[0]
    assert {5} == {len(row) for row in first}


@pytest.mark.long
def test_every_metric_is_in_the_table_or_named_as_alike(page):
    """Nothing that was measured is left out."""
    labels = "\n".join(row[0] for row in tables(page)[0])
    alike = page.partition("Equal in all runs:")[2]
    labelled = ("reprocessed", "lost", "rebalances", "downtime", "takeover", "moved", "requests")
    missing = [
        metric.name
        for metric in VALUES
        if f"`{metric.name}`" not in labels + alike and not metric.name.startswith(labelled)
    ]

    assert set(missing) <= {
        "partial",
        "overlap_records",
        "commits_refused",
        "lag_processed_peak",
        "lag_recovery_max_s",
    }


@pytest.mark.long
def test_differences_are_paired_and_what_is_no_chance_is_bold(page):
    """The interval of fewer requests leaves out zero; the first column has no brackets."""
    rows = {row[0]: row[1:] for row in tables(page)[0]}

    assert not any("(" in cells[0] for cells in rows.values())
    fewer = r"\(\*\*-[\d.]+ \(-[\d.]+ to -[\d.]+\)\*\*\)"
    assert re.search(fewer, rows["requests per second"][3])
    assert "0" == rows["lost (records)"][3]


def test_the_table_has_settings_and_causes(page):
    """Settings of each column above, causes below: the table can be read alone."""
    assert "- **eager**: billing: 2 members, range (eager)" in page
    assert "- **static**: billing: 2 static members\n" in page
    causes = {row[0] for row in tables(page)[1]}

    assert "two owners at once" in causes


@pytest.mark.long
def test_variants_of_a_scenario_are_rows():
    """As they are without --markdown, with the figures that people ask for."""
    (first, *_) = tables(rebalance(*QUICK).out)

    assert ["consumer", "consumer, 5min", "classic, eager", "classic, cooperative"] == [
        row[0] for row in first[1:]
    ]
    assert 20 > len(first[0])


def test_one_seed_has_differences_and_no_intervals():
    """The table says so."""
    text = rebalance(*QUICK, *FOUR[:4]).out

    assert "One seed, so there are no intervals." in text
    assert "±" not in text


@pytest.mark.parametrize("form", [(), ("--rows",), ("--markdown",)])
def test_a_fault_that_does_not_fire_in_a_column_is_reported(form, tmp_path):
    """A protocol without the targeted step would otherwise look harmless."""
    aimed = changed(('at = "18s"', 'when = "billing-1 sent SyncGroup"'), ('"40s"', '"12s"'))
    path = written(tmp_path, aimed)
    out = " ".join(
        rebalance("compare", path, "--with", "eager", "--with", "kip848", *form).out.split()
    )

    assert "warning: kip848: did not fire: crash-1" in out
    assert "in 1 of 1 runs" in out
    assert "warning: eager: did not fire" not in out
    assert "eager: fault did not fire" not in out
