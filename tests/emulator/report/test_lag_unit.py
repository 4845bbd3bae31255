"""Lag counts offsets where some of them hold no record, in every table of figures."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import emulator
from emulator.cli.main import app

GAPS = """
title = "a compacted topic"
run_for = "20s"

[[topic]]
name = "orders"
partitions = 2
rate = "20/s"
backlog = 200
compacted = 2

[[group]]
id = "billing"
topics = ["orders"]
members = 2
"""


def compared(*arguments: str) -> str:
    """Return what ``rebalance compare`` prints, without line breaks."""
    found = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["compare", *arguments])
    assert not found.exit_code, found.output
    return " ".join(found.stdout.split())


@pytest.mark.long
def test_a_comparison_counts_lag_in_offsets_where_there_are_gaps(tmp_path):
    path = tmp_path / "gaps.toml"
    path.write_text(GAPS)
    with_gaps = compared(
        str(path), "--with", "as-written", "--with", "one: group[billing].members=1"
    )
    without = compared("member-crashes", "--with", "as-written", "--with", "static")

    assert "lag, peak (offsets)" in with_gaps
    assert "lag, peak (records)" not in with_gaps
    assert "lag, peak (records)" in without


@pytest.mark.long
def test_columns_may_have_other_groups():
    """A change that gives an application a group of its own is compared like any other."""
    (change,) = [
        each
        for each in emulator.advise("a5-two-applications-one-group", 1).changes
        if each.id == "separate-groups"
    ]
    name, split = "a5-two-applications-one-group", f"split: {change.overrides[0]}"
    text = compared(name, "--with", "as-written", "--with", split)

    assert "split: billing-refunds: 2 members" in text
