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


@pytest.mark.parametrize("option", ["--show-completion fish", "--show-completion=fish"])
def test_the_script_of_a_named_shell_is_printed(option):
    """Not that of the shell which started the process."""
    result = CliRunner().invoke(app, option.split(), prog_name="rebalance")

    assert 0 == result.exit_code
    assert result.stdout.startswith("complete --command rebalance")


def test_completion_is_installed_for_a_named_shell(tmp_path, monkeypatch):
    """In the file that this shell reads."""
    monkeypatch.setenv("HOME", str(tmp_path))
    arguments = ["--install-completion", "fish"]
    result = CliRunner().invoke(app, arguments, prog_name="rebalance")

    assert 0 == result.exit_code
    written = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert ["rebalance.fish"] == written


@pytest.mark.parametrize("words", [["tcsh"], ["fish", "zsh"]])
def test_completion_of_another_shell_is_refused(words):
    """With the names of those that there are."""
    arguments = ["--install-completion", *words]
    result = CliRunner().invoke(app, arguments, prog_name="rebalance")

    assert 2 == result.exit_code
    assert "bash, fish, powershell, pwsh or zsh" in " ".join(result.output.split())


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
    assert completed("rebalance study f3") == ["f3-commit-interval"]
    assert completed("rebalance study member-") == ["member-of-mine.toml"]
    assert completed("rebalance compare quiet --with ki") == ["kip848"]


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
