"""The table of series has six runs of each experiment, with the figures of those at hand."""

from __future__ import annotations

import json
from collections import Counter

from benchmarks.captured_series import COLUMNS
from benchmarks.keep_captures import EXPERIMENTS, KEPT
from docs.pages.captured_series import rows, series_section


def test_six_runs_of_each_experiment_have_figures():
    runs = Counter(row["experiment"] for row in rows())

    assert {path.stem: 6 for path in EXPERIMENTS.glob("*.toml")} == runs
    assert all(list(COLUMNS) == list(row) for row in rows())


def test_real_figures_are_those_of_the_runs_that_are_kept():
    kept = [row for row in rows() if (KEPT / row["experiment"] / f"run-{row['run']}").exists()]
    for row in kept:
        run = KEPT / row["experiment"] / f"run-{row['run']}"
        summary = json.loads((run / "summary.json").read_text("utf-8"))
        noisy = json.loads((run / "meta.json").read_text("utf-8"))["noise"]["noisy"]
        name = f"{row['experiment']}/run-{row['run']}"

        assert str(int(noisy)) == row["noisy"], name
        assert str(summary["duplicates"]) == row["real_duplicates"], name
        assert str(summary["never_processed"]) == row["real_lost"], name

    assert 3 * len(list(EXPERIMENTS.glob("*.toml"))) == len(kept)


def test_a_line_says_how_many_runs_are_inside():
    *lines, total = series_section()
    inside = sum(not row["outside"] for row in rows())

    assert f"| {inside} | |" == total[-len(f"| {inside} | |") :]
    assert all(row["outside"] in "".join(lines) for row in rows())
