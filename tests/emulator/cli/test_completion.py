"""Completion: commands without importing them, options, scenarios of the catalogue and files."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from emulator.cli.main import COMMANDS, app
from emulator.cli.options import scenarios


def completed(line):
    """Return what fish is offered for a line."""
    environment = {
        "_REBALANCE_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": line,
    }
    out = CliRunner().invoke(app, env=environment, prog_name="rebalance").stdout
    return [offered.partition("\t")[0] for offered in out.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell, monkeypatch):
    """It calls the command by its name."""
    monkeypatch.setenv("_REBALANCE_COMPLETE", f"source_{shell}")
    result = CliRunner().invoke(app, prog_name="rebalance")

    assert "_REBALANCE_COMPLETE=complete_" in result.stdout


def test_commands_are_completed_without_importing_them(monkeypatch):
    """An import of all takes a second."""
    monkeypatch.delitem(sys.modules, "emulator.cli.verify", raising=False)

    assert completed("rebalance ") == list(COMMANDS)
    assert completed("rebalance sch") == ["schema"]
    assert "emulator.cli.verify" not in sys.modules


def test_options_and_scenarios_are_completed(tmp_path, monkeypatch):
    """In their places."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "member-of-mine.toml").touch()

    assert "--junit" in completed("rebalance run --j")
    assert completed("rebalance explain member-") == [
        *("member-closes", "member-crashes", "member-joins"),
        "member-of-mine.toml",
    ]
    assert completed("rebalance scenarios show qui") == ["quiet"]


def test_files_in_folders_are_completed(tmp_path, monkeypatch):
    """A folder ends with a slash; other files are left out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests" / "deploys").mkdir(parents=True)
    for name in ("deploy.toml", "deploy.txt"):
        (tmp_path / "tests" / name).touch()

    assert scenarios("tes") == ["tests/"]
    assert scenarios("tests/de") == ["tests/deploy.toml", "tests/deploys/"]
    assert scenarios("nowhere/de") == []


def test_paths_of_the_scenario_are_completed_after_set(tmp_path, monkeypatch):
    """Those of the scenario on the line; none of a file that cannot be read, and no values."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("title = ")
    line = "rebalance run member-crashes --set"

    assert ["run_for="] == completed(f"{line} run_f")
    assert ["fault[crash-1].at="] == completed(f"{line} fault[crash-1].at")
    assert ["group[billing].settings[session.timeout.ms]="] == completed(
        f"{line} group[billing].settings[session"
    )
    assert not any(completed("rebalance run broken.toml --set run_f"))
