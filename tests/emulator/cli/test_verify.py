"""``rebalance verify``: verdicts as tables and as JSON lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import emulator.conformance.verifying
from emulator.conformance.figures import EQUAL, NOT_JUDGED, Figure, Verdict
from emulator.conformance.screen import one_run, overview
from emulator.report.wording import WIDTH

from .commands import rebalance

KEPT = Path(__file__).parents[2] / "captures"
QUIET = KEPT / "static-crash-return"
INSIDE = Figure("duplicates", 77, 76, 49.4, True)
LOST = Figure("lost", 0, 0, 0, True)
LATE = Figure("takeover_first_s", 7.2, 6.1, "5.5 to 7.1 in 200 seeds", False)
CALLS = Figure("calls.m1.1", [["assigned", ["t0-0"]]], [["assigned", []]], EQUAL, False)
SHOWN_ONLY = Figure("commits.m1.1", 4, 5, NOT_JUDGED, True)


@pytest.fixture
def spoiled(tmp_path: Path) -> Path:
    """Return a folder of two runs, the second of which is corrupt."""
    shutil.copytree(QUIET, tmp_path / "static-crash-return")
    shutil.copytree(QUIET / "run-21", tmp_path / "static-crash-return" / "run-22")
    broken = tmp_path / "static-crash-return" / "run-22" / "meta.json"
    broken.write_text(broken.read_text().replace('"t_fault"', '"t_fualt"'))
    return tmp_path


def test_one_run_is_shown_figure_by_figure():
    """Real, emulated, allowed, inside or not."""
    status, out, err = rebalance("verify", QUIET, "--seeds", 0)

    assert (0, "") == (status, err)
    assert out.startswith("static-crash-return/run-21: inside\n")
    assert "takeover_first_s" in out
    assert max(map(len, out.splitlines())) <= WIDTH


def test_json_is_a_line_a_run():
    """As other tools read it."""
    _, out, _ = rebalance("verify", QUIET, "--seeds", 0, "--json")

    line = json.loads(out)
    assert ("static-crash-return/run-21", True) == (line["capture"], line["inside"])
    figure = next(figure for figure in line["figures"] if figure["name"] == "duplicates")
    assert {"name", "real", "emulated", "allowed", "inside"} == set(figure)
    assert figure["real"] > 0


def test_a_corrupt_capture_is_refused_before_anything_is_printed(spoiled):
    """Also if other runs before it are sound."""
    status, out, err = rebalance("verify", spoiled)

    assert (2, "") == (status, out)
    assert "run-22" in err
    assert "field 't_fault' is missing" in err
    assert 1 == err.count("\n")


def test_a_folder_without_runs_is_refused(tmp_path):
    """It says what was expected."""
    status, _, err = rebalance("verify", tmp_path)

    assert 2 == status
    assert "no captured run here" in err


def test_something_outside_exits_with_1(monkeypatch):
    """For those who run it in a pipeline."""
    verdict = Verdict(capture="a/run-1", figures=(INSIDE, LOST, LATE), seeds=200)
    monkeypatch.setattr("emulator.conformance.verifying.verify_run", lambda *_: verdict)

    status, out, _ = rebalance("verify", QUIET)

    assert 1 == status
    assert "OUTSIDE, by the range of 200 seeds: takeover_first_s" in out


def test_a_skipped_run_is_no_failure(monkeypatch):
    """It is neither inside nor outside."""
    verdict = Verdict(capture="a/run-1", skipped="not modelled in this version: KIP-848")
    monkeypatch.setattr("emulator.conformance.verifying.verify_run", lambda *_: verdict)

    assert (0, f"a/run-1: skipped: {verdict.skipped}\n", "") == rebalance("verify", QUIET)
    line = json.loads(rebalance("verify", QUIET, "--json").out)
    assert (None, verdict.skipped, []) == (line["inside"], line["skipped"], line["figures"])


def test_many_runs_are_summed_up_in_one_table():
    """One row each, and below it what is outside, by how much."""
    verdicts = [
        Verdict(capture="a/run-1", figures=(INSIDE, LOST, SHOWN_ONLY, LATE, CALLS), seeds=200),
        Verdict(
            capture="a/run-2", figures=(INSIDE, LOST, Figure("takeover_first_s", 1, 1, 0.5, True))
        ),
        Verdict(capture="b/run-1", skipped="not modelled"),
    ]

    lines = list(overview(verdicts))

    assert any(
        "| a/run-1 " in line and "OUTSIDE: takeover_first_s and calls" in line for line in lines
    )
    assert any("| a/run-2 " in line and "77 / 76" in line for line in lines)
    assert "b/run-1: skipped: not modelled" in lines
    assert "    takeover_first_s: real 7.2, emulated 6.1, allowed 5.5 to 7.1 in 200 seeds" in lines
    assert "    calls.m1.1: real assigned t0-0, emulated assigned nothing, must be equal" in lines
    assert "2 runs compared: 1 inside, 1 outside; 1 skipped" == lines[-1]


def test_the_table_shows_stalls_if_some_run_has_them():
    """Those of brokers that failed; the cells of the others stay empty."""
    stall = Figure("stall_last_s", 12.54, 11.6, 1.254, True)
    verdicts = [
        Verdict(capture="a/run-1", figures=(INSIDE, LOST, stall)),
        Verdict(capture="b/run-1", figures=(INSIDE, LOST)),
    ]

    lines = list(overview(verdicts))
    header = next(line for line in lines if "captured run" in line)
    rows = [line.split("|")[1:-1] for line in lines if "/run-1" in line]

    assert "stall_last_s" in header
    assert "takeover_first_s" not in header
    assert ["12.5 / 11.6", ""] == [row[3].strip() for row in rows]


def test_figures_that_are_only_shown_have_no_verdict():
    """They are not judged."""
    lines = list(one_run(Verdict(capture="a/run-1", figures=(INSIDE, SHOWN_ONLY))))

    shown = next(line for line in lines if "commits.m1.1" in line)
    assert "not judged" in shown
    assert "inside" not in shown


def test_the_library_returns_the_verdicts_as_a_result():
    """Short as text, a row for each figure as a table."""
    result = emulator.conformance.verifying.verify(QUIET, 0)

    assert "<Verification: 1 runs inside, 0 outside, 0 skipped>" == repr(result)
    assert result.ok
    assert len(result.verdicts[0].figures) == result.to_arrow().num_rows
    assert "<td>static-crash-return/run-21</td>" in result._repr_html_()
