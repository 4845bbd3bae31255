"""``rebalance import``: what it finds, and a group of it as a scenario."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ..commands import rebalance

KEPT = Path(__file__).parents[3] / "captures" / "offsets-log"
STATIC = KEPT / "__consumer_offsets-11.00000000000000000000.log.gz"
GROUP = "rolling-static-1-26gt5"


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Import a segment once."""
    folder = tmp_path_factory.mktemp("import") / "imported"
    status, out, err = rebalance("import", STATIC, "-o", folder)
    assert (0, "") == (status, err)
    return folder, out


def test_an_import_reports_its_findings(imported):
    """In a table and in sentences, with the path of the rest."""
    folder, out = imported

    assert f"| {GROUP} " in out
    assert "probably 1 deploy: members replaced one after another" in out
    assert f"Findings: {folder / 'findings'}" in out
    assert f"Page:     {folder / 'report.html'}" in out
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_findings_are_tables_in_its_folder(imported):
    """Besides those of the import."""
    folder, _ = imported
    groups = pq.read_table(folder / "findings" / "groups.parquet").to_pylist()

    assert GROUP in [each["group"] for each in groups]
    assert ["cadence", "groups", "members", "partitions", "rebalances", "rewinds"] == sorted(
        path.stem for path in (folder / "findings").iterdir()
    )


def test_a_group_is_printed_as_a_scenario(imported):
    """From the folder of an import, or from segments: the same."""
    folder, _ = imported
    first = rebalance("import", folder, "--scenario", GROUP)
    second = rebalance("import", STATIC, "--scenario", GROUP)

    assert (0, "") == (first[0], first[2])
    assert first == second
    assert f'title = "{GROUP}, as imported"' in first[1]


def test_a_written_scenario_runs_as_it_is(imported, tmp_path):
    """``rebalance run`` plays the output of ``--scenario``."""
    folder, _ = imported
    path = tmp_path / "group.toml"
    status, out, _ = rebalance("import", folder, "--scenario", GROUP, "-o", path)
    played, printed, _ = rebalance("run", path, "--set", "run_for=20s")

    assert (0, 0) == (status, played)
    assert f"rebalance run {path}" in out
    assert "3 static members" in printed


def test_a_scenario_as_json_is_one_line(imported):
    """For machines."""
    folder, _ = imported
    _, out, _ = rebalance("import", folder, "--scenario", GROUP, "--json")

    assert GROUP == json.loads(out)["group"]
    assert 1 == out.count("\n")


def test_a_file_that_is_there_is_not_written_over(imported, tmp_path):
    """The user may have edited it."""
    path = tmp_path / "group.toml"
    path.write_text("mine")
    status, _, err = rebalance("import", imported[0], "--scenario", GROUP, "-o", path)

    assert (2, "mine") == (status, path.read_text())
    assert "exists already" in err


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("--scenario", "rolling-static-1"), f"no such group; there are {GROUP}, "),
        (("--scenario", GROUP, "--generation", "9"), "no generation 9 with members; there are 1"),
        (("--scenario", GROUP, "--group", "x*"), "omit --group"),
        (("--generation", "1"), "--generation needs --scenario"),
        (("--offsets-retention", "soon"), "--offsets-retention soon:"),
        (("--offsets-retention", "1s"), "must be at least a minute"),
    ],
)
def test_impossible_options_are_refused(imported, arguments, printed):
    """With the possible values; nothing is written."""
    status, out, err = rebalance("import", imported[0], *arguments)

    assert (2, "") == (status, out)
    assert printed in err


def test_an_unknown_group_is_named(tmp_path):
    """The group is not in these segments; the message lists those that are."""
    status, _, err = rebalance("import", STATIC, "--scenario", "nobody")

    assert 2 == status
    assert "group nobody: no such group; there are " in err
    assert GROUP in err
