"""A terminal of 60 columns shows every word that a wide one shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.cli.commands import CRASH, rebalance

ROOT = Path(__file__).parents[3]


@pytest.fixture
def both(monkeypatch):
    """Return a function that returns the output at 60 and at 100 columns, without white space."""

    def call(*arguments):
        texts = []
        for columns in ("60", "100"):
            monkeypatch.setenv("COLUMNS", columns)
            status, out, err = rebalance(*arguments)
            assert (0, "") == (status, err)
            texts.append(out)
        narrow, wide = ("".join(text.split()) for text in texts)
        return narrow, wide

    return call


def test_a_comparison_loses_nothing(both, tmp_path):
    """Its title is wrapped."""
    path = tmp_path / "crash.toml"
    text = CRASH.replace("40s", "3s").replace("18s", "2s").replace("one of", "any one of the")
    path.write_text(text, encoding="utf-8")

    narrow, wide = both("compare", str(path), "--with", "eager", "--with", "static")

    head, _, _ = wide.partition("||eager")
    assert "3slong" in head
    assert narrow.startswith(head)


def test_commands_to_paste_have_lines_of_their_own(both, tmp_path, monkeypatch):
    """Whole, because a shell would run the parts of a wrapped one; with the words of a wide screen."""
    (tmp_path / "crash.toml").write_text(CRASH, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    narrow, wide = both("run", "crash.toml", "--no-advise")
    monkeypatch.setenv("COLUMNS", "60")
    lines = rebalance("run", "crash.toml", "--no-advise").out.splitlines()

    assert narrow == wide
    assert "  rebalance explain crash.toml D1 --seed 0" in lines
    assert max(map(len, lines)) <= 60


def test_a_table_of_groups_loses_no_letter(both):
    """Cells are wrapped, none is cut."""
    narrow, wide = both("log", str(ROOT / "examples" / "__consumer_offsets-4"), "--table")

    assert sorted(narrow.replace("─", "")) == sorted(wide.replace("─", ""))


@pytest.mark.long
def test_the_list_of_scenarios_is_wrapped(both, monkeypatch):
    """To the width of the terminal, with the same words."""
    narrow, wide = both("scenarios")
    monkeypatch.setenv("COLUMNS", "60")

    assert narrow == wide
    assert max(map(len, rebalance("scenarios").out.splitlines())) <= 60


def cells_of(out: str) -> set[str]:
    """Return what the cells of the tables of a text say."""
    rows = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("|")]
    return {cell.strip() for row in rows for cell in row} - {""}


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "CRASH", "--with", "eager", "--with", "a variant with a long name: static"),
        ("compare", "CRASH", "--rows", "--with", "eager", "--with", "one with a name: static"),
        ("run", "CRASH", "--seeds", 2, "--jobs", 1),
    ],
)
def test_a_table_that_is_too_wide_becomes_blocks(monkeypatch, tmp_path, arguments):
    """With every cell, below the first one of its row, and no line beyond the terminal's width."""
    path = tmp_path / "c.toml"
    path.write_text(CRASH.replace("40s", "12s").replace("18s", "2s"), encoding="utf-8")
    given = [path if each == "CRASH" else each for each in arguments]
    texts = []
    for columns in ("60", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        texts.append(rebalance(*given).out)
    narrow, wide = texts

    words = " ".join(narrow.split())
    assert all(cell in words for cell in cells_of(wide) if set(cell) - set("-:"))
    shown = [line for line in narrow.splitlines() if "group[" not in line and "c.toml" not in line]
    assert [] == [line for line in shown if len(line) > 60]


@pytest.mark.long
def test_the_causes_of_many_runs_are_wrapped(both, monkeypatch):
    """With the number of their seeds."""
    call = ("run", "member-crashes", "--set", "run_for=130s", "--seeds", "2", "--no-advise")
    narrow, _ = both(*call)
    monkeypatch.setenv("COLUMNS", "60")

    assert "crashedwhileuncommitted,in2of2seeds" in narrow
    assert max(map(len, rebalance(*call).out.splitlines())) <= 60
