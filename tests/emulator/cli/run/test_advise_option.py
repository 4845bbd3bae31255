"""``rebalance run --advise``: the changes that are tried, and why there is none."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest

from ..commands import rebalance, written


def test_advise_tries_changes_and_prints_how_to_make_them(tmp_path):
    """By default they are named; --no-advise prints the hints alone, with the same numbers."""
    path = written(tmp_path)
    tried = rebalance("run", path, "--advise", "--seeds", "2", "--jobs", "1").out
    named = rebalance("run", path).out
    without = rebalance("run", path, "--no-advise").out

    assert "Changes tried\n| change" in tried
    assert "Means of the same 2 seeds, 0 to 1, without → with each change alone." in tried
    assert "      --set 'group[billing].settings[auto.commit.interval.ms]=1000'" in tried
    assert "To try commit-more-often" in " ".join(named.split())
    assert "To try" not in without
    assert without == named.partition("\nTo try")[0].rstrip("\n") + "\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("q2-members-start-one-by-one", "the run has no hint, nothing in it calls for one"),
        ("j6-idle-member-never-notices", "no key of this scenario does what the hints recommend"),
    ],
)
def test_advise_says_why_no_change_is_tried(name, why):
    """With the command that plays the scenario's own variants; without the option it says nothing."""
    out = rebalance("run", name, "--advise").out

    assert f"No change to try: {why}.\n" in out
    assert f"Its variants side by side: rebalance compare {name}\n" in out
    assert "No change" not in rebalance("run", name).out


def on_terminal(*arguments: object) -> str:
    """Return what the command prints on a terminal."""
    ours, terminal = pty.openpty()
    command = [sys.executable, "-m", "emulator", *map(str, arguments)]
    with subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL) as process:
        os.close(terminal)
        pieces = []
        with suppress(OSError):  # the end of a terminal on Linux
            while piece := os.read(ours, 65_536):
                pieces.append(piece)
        os.close(ours)
    assert process.returncode == 0
    return b"".join(pieces).decode()


@pytest.mark.long
def test_cheap_changes_are_tried_on_a_terminal_without_being_asked_for(tmp_path):
    """With the seed of the run alone; not with ``--no-advise``."""
    path = written(tmp_path)
    tried, without = on_terminal("run", path), on_terminal("run", path, "--no-advise")

    assert "Changes tried" in tried
    assert "Seed 0 alone, without → with each change alone" in tried
    assert "Changes tried" not in without


@pytest.mark.parametrize(("cheap_s", "tried"), [(1.0, True), (1e-3, False)])
def test_changes_that_take_longer_are_named_on_a_terminal(tmp_path, monkeypatch, cheap_s, tried):
    """With the command that tries them."""
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("emulator.cli.run_advice.sys", terminal)
    monkeypatch.setattr("emulator.advice.cost.CHEAP_S", cheap_s)
    out = rebalance("run", written(tmp_path)).out

    assert tried == ("Changes tried" in out)
    assert tried == ("To try commit-more-often" not in out)


def test_json_has_changes_with_trials_if_they_are_asked_for(tmp_path):
    """With the options that play them."""
    path = written(tmp_path)
    advice = rebalance("run", path, "--json", "--seed", "3").document["advice"]
    tried = rebalance("run", path, "--json", "--seeds", "1", "--advise").document["advice"]

    (change, *_) = advice["changes"]
    assert change["trial"] is None
    assert {"id", "text", "group", "causes", "records", "page"} == advice["hints"][0].keys()
    assert [0] == tried["changes"][0]["trial"]["seeds"]
    assert ["group[billing].settings[auto.commit.interval.ms]=1000"] == change["set"]
