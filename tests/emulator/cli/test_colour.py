"""Colour of reports: on a terminal, and as ``NO_COLOR`` and ``FORCE_COLOR`` say."""

from __future__ import annotations

import re
import sys

import pytest

from emulator.cli.output import coloured, has_colour
from tests.emulator.cli.commands import changed, rebalance, written

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(
    ("environment", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_a_terminal_has_colour_unless_it_is_switched_off(
    monkeypatch, environment, terminal, expected
):
    """And a file has none unless it is forced."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)

    assert has_colour() is expected


def test_a_report_in_colour_has_the_same_words(tmp_path, monkeypatch):
    """What failed stands out; JSON has no colour."""
    path = written(tmp_path, changed(("40s", "3s"), ("18s", "2s"), ("lost = 0", "lost = 9")))
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = rebalance("run", path)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    colour = rebalance("run", path)[1]

    assert "\x1b" not in plain
    assert ESCAPES.sub("", colour) == plain
    assert "\x1b" not in rebalance("run", path, "--json")[1]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("  FAILED  lost is 3, expected == 0", "  FAILED"),
        ("PROBLEMS", "PROBLEMS"),
        ("12 records were reprocessed, 1,203 lost. 1 record was", "1,203 lost"),
        ("Lost: 3 records", "Lost: 3 records"),
        ("internal error: totals differ", "internal error:"),
    ],
)
def test_failures_and_losses_are_red(line, word):
    """The rest of the line is not."""
    assert coloured(line) == line.replace(word, f"\x1b[1;31m{word}\x1b[0m")


@pytest.mark.parametrize(
    "line", ["9 records were reprocessed, none lost.", "  lag  3 FAILED  x", "Lost and found"]
)
def test_other_lines_stay_plain(line):
    """No word is coloured in the middle of a sentence."""
    assert coloured(line) == line
