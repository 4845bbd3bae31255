"""Verdicts on the screens and in JSON."""

from __future__ import annotations

import re
from html import unescape

from ..cli.commands import CRASH, rebalance, written

SHORT = ("--set", "run_for=18.5s")


def test_the_first_line_says_that_a_run_is_inconclusive(tmp_path):
    """Before any total, with the reasons; an expectation of it is not met."""
    answer = rebalance("run", written(tmp_path, CRASH), *SHORT)
    first = answer.out.split("\n\n")[1].splitlines()

    assert 1 == answer.status
    assert "INCONCLUSIVE: when the run ended," == first[0]
    assert any("had no owner" in line for line in first)
    assert "  inconclusive  lost is 0, expected == 0: " in answer.out


def test_a_document_has_the_verdicts(tmp_path):
    """Of one run, and of each of many."""
    path = written(tmp_path, CRASH)
    one = rebalance("run", path, *SHORT, "--json").document
    many = rebalance("run", path, *SHORT, "--json", "--seeds", "2", "--jobs", "1").document
    whole = rebalance("run", path, "--json").document

    assert not one["conclusive"]
    assert one["why"] == [verdict["sentence"] for verdict in one["verdicts"]]
    assert {"without-owner", "session-running"} <= {each["id"] for each in one["verdicts"]}
    assert [False, False] == [run["conclusive"] for run in many["runs"]]
    assert many["expectations"][0]["inconclusive"]
    assert (True, []) == (whole["conclusive"], whole["why"])


def test_many_seeds_count_their_inconclusive_runs(tmp_path):
    """With an example of each reason."""
    path = written(tmp_path, CRASH)
    answer = rebalance("run", path, *SHORT, "--seeds", "2", "--jobs", "1")

    assert "INCONCLUSIVE: 2 of 2 runs ended too early." in answer.out
    assert "in 2: e.g. " in answer.out


def test_a_page_has_a_text_for_each_verdict(tmp_path):
    """Before the totals, with the word inconclusive."""
    path, page = written(tmp_path, CRASH), tmp_path / "page.html"
    document = rebalance("run", path, *SHORT, "--json", "--html", page).document
    content = page.read_text(encoding="utf-8")
    *said, totals = map(unescape, re.findall(r'<p class="answer">([^<]+)', content))

    assert document["why"] == [text.partition(": ")[2] for text in said]
    assert all(
        text.startswith(("Problem: ", "Inconclusive, when the run ended: ")) for text in said
    )
    assert totals.startswith("No records were reprocessed")
