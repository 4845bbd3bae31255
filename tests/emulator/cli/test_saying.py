"""Output to any stream: a pipe that closes, a full disk, no stream at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main

from .commands import changed, rebalance, written

SCRIPT = str(Path(sys.executable).parent / "rebalance")
FULL = Path("/dev/full")
FAILS = changed(("lost = 0", 'lost = ">= 1"'))


def shell(line: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell; ``$1`` … are the arguments."""
    return subprocess.run(
        ["bash", "-c", line, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.long
@pytest.mark.parametrize(("text", "status"), [(changed(), "0"), (FAILS, "1")])
def test_a_reader_that_goes_away_changes_no_status(tmp_path, text, status):
    """``| head -1`` prints one line and no traceback; a failed expectation is still one."""
    path = written(tmp_path, text)

    done = shell('"$0" run "$1" --json | true; echo "${PIPESTATUS[0]}"', path)

    assert (f"{status}\n", "") == (done.stdout, done.stderr)


@pytest.mark.long
def test_input_is_not_read_after_the_output_closes(tmp_path):
    """An endless input ends with its reader."""
    done = shell('yes "{}" | "$0" assign | head -1')

    assert 1 == done.stdout.count("\n")
    assert "" == done.stderr


@pytest.mark.long
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("command", ["run quiet", "schema", "--version", "run --help"])
def test_a_full_disk_is_one_line(command):
    """Not as a success, and not as a traceback."""
    done = shell(f'"$0" {command} > {FULL}')

    assert 2 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert "No space left on device" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ('"$0" schema >&-', 0),
        ('"$0" run quiet --set run_for=10s 2>&- >/dev/null', 0),
        ('"$0" run no-such-scenario 2>&-', 2),
        ('"$0" assign <&-', 0),
        ('"$0" run - <&-', 2),
    ],
)
def test_streams_may_be_closed(line, status):
    """As under some schedulers."""
    done = shell(line)

    assert status == done.returncode
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_terminal_without_our_letters_gets_question_marks(tmp_path):
    """Whatever its encoding."""
    path = written(tmp_path, changed(('at = "18s"', 'between = ["17s", "19s"]')))

    done = shell('"$0" run "$1" --seeds 2 --jobs 1', path, PYTHONIOENCODING="ascii")

    assert 0 == done.returncode
    assert "; ? if there are too few seeds" in done.stdout


def test_json_needs_no_encoding(tmp_path):
    """It is plain ASCII, and means the same."""
    path = written(tmp_path, changed(("one of two", "einer von zweien stürzt ab: one of two")))

    out = rebalance("run", path, "--json").out

    assert out.isascii()
    assert "stürzt" in json.loads(out)["scenario"]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_output_is_as_wide_as_the_terminal(tmp_path, monkeypatch, columns):
    """``COLUMNS`` gives the width; commands stay whole."""
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = rebalance("run", written(tmp_path)).out.splitlines()
    words = [line for line in lines if str(tmp_path) not in line]

    assert columns - 15 < max(map(len, words)) <= columns


def test_output_is_never_wider_than_100_columns(tmp_path, monkeypatch):
    """Long lines are hard to read."""
    path = written(tmp_path)
    usual = rebalance("run", path)
    monkeypatch.setenv("COLUMNS", "250")

    assert usual == rebalance("run", path)


@pytest.mark.long
@pytest.mark.parametrize("colour", [{"FORCE_COLOR": "1", "NO_COLOR": "1"}, {}])
def test_without_a_terminal_or_with_no_color_nothing_is_coloured(colour):
    """Logs and files need no escapes."""
    question = '{"assignor": "range", "input": {"partitionsPerTopic": {}, "members": []}}'

    done = shell('echo "$1" | "$0" assign --table', question, **colour)

    assert 0 == done.returncode
    assert "\x1b[3" not in done.stdout.replace("\x1b[3m", "")


def test_main_reports_a_full_disk_at_the_final_flush(monkeypatch, capsys):
    """The rest of the buffer may not fit."""

    def full() -> None:
        raise main.RefusedError("The output cannot be written: full")

    monkeypatch.setattr(sys, "argv", ["rebalance", "--version"])
    monkeypatch.setattr(main, "flush", full)
    with pytest.raises(SystemExit) as ended:
        main.main()

    assert 2 == ended.value.code
    assert "The output cannot be written: full\n" == capsys.readouterr().err
