"""The application as a whole: its help, its door for what goes wrong, its exit statuses."""

from __future__ import annotations

import importlib.metadata
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from emulator import __version__
from emulator.cli import main
from emulator.cli.output import message_of
from emulator.errors import RefusedError
from emulator.events import Event
from emulator.events.parquet import EventFile

from .commands import changed, rebalance, written

ROOT = Path(__file__).parents[3]
COMMANDS = [
    *("run", "compare", "study", "explain", "ledger", "assign", "log", "import", "audit", "verify"),
    *("blame", "capture", "scenarios", "init", "schema"),
]
SCRIPT = str(Path(sys.executable).parent / "rebalance")


def test_the_version_names_the_kafka_that_is_followed():
    """People paste it into reports."""
    assert (0, "rebalance 0.1.0, follows Apache Kafka 4.4.0\n", "") == rebalance("--version")


def test_the_version_is_that_of_the_distribution():
    """It is written in two places, since reading the metadata would cost every start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == __version__
    assert importlib.metadata.version("rebalance-emulator") == __version__


def test_help_names_every_command_in_one_whole_line():
    """Nothing is cut off in the list of commands."""
    _, out, _ = rebalance("--help")

    listed = out.partition("Commands:")[2].splitlines()
    assert COMMANDS == sorted(
        (line.split()[0] for line in listed if line.strip()), key=COMMANDS.index
    )
    assert "..." not in out.partition("Commands:")[2]


def test_no_command_prints_the_help_and_is_bad_input():
    """A slip of the pen is no success."""
    status, out, err = rebalance()

    assert (2, "") == (status, out)
    assert "Commands:" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["run"], "Missing argument"),
        (["run", "quiet", "--seed", "one"], "--seed"),
        (["run", "quiet", "--seed", "-1"], "--seed"),
        (["run", "quiet", "--seeds", "0"], "--seeds"),
        (["run", "quiet", "--jobs", "0"], "--jobs"),
        (["run", "quiet", "--nonsense"], "No such option"),
        (["run", "quiet", "--seeds", "2", "--events", "x.parquet"], "--events writes one run"),
    ],
)
def test_an_unreadable_argument_exits_with_2(arguments, said):
    """The message names the argument."""
    status, out, err = rebalance(*arguments)

    assert (2, "") == (status, out)
    assert said in err


def test_a_refusal_is_one_line_and_other_exceptions_a_traceback():
    """An unexpected exception is a bug, and shows its place."""
    assert "why" == message_of(RefusedError("why"))
    assert message_of(KeyError("why")) is None


def test_a_bug_is_not_taken_for_bad_input(monkeypatch):
    """An exception that is no refusal goes through."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("emulator.cli.run.load_named", broken)
    with pytest.raises(ZeroDivisionError):
        rebalance("run", "quiet")


def test_python_m_emulator_is_the_same_command():
    """For installations whose scripts folder is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "emulator", "--version"], capture_output=True, text=True, check=True
    )

    assert rebalance("--version").out == done.stdout


def test_the_console_script_is_this_application(tmp_path):
    """Bad input through the real script: one message, status 2, no traceback."""
    path = written(tmp_path, changed(("20/s", "20")))

    done = subprocess.run([SCRIPT, "run", path], capture_output=True, text=True, check=False)

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(f'{path}:8: topic[orders].rate = "20": a unit is missing')
    assert 1 == done.stderr.count("\n")


def test_a_reader_that_goes_away_is_no_error():
    """``rebalance scenarios | head -1`` says nothing else."""
    pipe = f"{SCRIPT} schema | head -1"

    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True)

    assert ("{\n", "") == (done.stdout, done.stderr)


def test_ctrl_c_ends_quietly_with_130(tmp_path, monkeypatch):
    """No traceback, and nothing half-written, in the middle of a run."""
    path = written(tmp_path)
    written_events = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells ignore it

    def interrupted(_: EventFile, event: Event) -> None:
        written_events.append(event)
        if len(written_events) == 100:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(EventFile, "write", interrupted)
    try:
        answer = rebalance("run", path, "--events", tmp_path / "events.parquet")
    finally:
        signal.signal(signal.SIGINT, before)

    assert (130, "", "") == answer
    assert [path] == list(tmp_path.iterdir())


def test_main_ends_the_process_with_the_status(monkeypatch, capsys):
    """The console script does nothing but call it."""
    monkeypatch.setattr(sys, "argv", ["rebalance", "--version"])
    with pytest.raises(SystemExit) as ended:
        main.main()

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("rebalance 0.1.0")
