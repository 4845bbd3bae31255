"""``rebalance run --junit``, and annotations on GitHub."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from tests.emulator.cli.commands import CRASH


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a short scenario with an expectation that fails."""
    monkeypatch.chdir(tmp_path)
    text = CRASH.replace("40s", "3s").replace("18s", "2s").replace("lost = 0", "processed = 1")
    (tmp_path / "crash.toml").write_text(text, encoding="utf-8")

    def call(*arguments, github="false"):
        monkeypatch.setenv("GITHUB_ACTIONS", github)
        return CliRunner().invoke(app, ["run", "crash.toml", *arguments])

    return call


@pytest.mark.parametrize("seeds", [(), ("--seeds", "2", "--jobs", "1")])
def test_the_file_has_the_expectations_and_the_report(run, tmp_path, seeds):
    """Of one seed, and of several."""
    result = run("--junit", "result.xml", *seeds)

    root = ET.parse(tmp_path / "result.xml").getroot()
    assert result.exit_code == 1
    assert root.get("failures") == "1"
    assert root.findtext(".//system-out").splitlines() == result.stdout.rstrip().splitlines()
    assert "::error" not in result.stdout


def test_a_file_that_cannot_be_written_is_refused(run):
    """With the reason."""
    result = run("--junit", "missing/result.xml")

    assert result.exit_code == 2
    assert (
        "--junit: missing/result.xml: cannot be written: there is no folder missing"
        in result.stderr
    )


def test_annotations_are_printed_on_github(run):
    """To stderr if stdout has JSON."""
    text, document = run(github="true"), run("--json", github="true")

    begin = "::error file=crash.toml,line="
    assert text.stdout.splitlines()[-1].startswith(begin)
    assert document.stderr.startswith(begin)
    assert len(document.stdout.splitlines()) == 1
