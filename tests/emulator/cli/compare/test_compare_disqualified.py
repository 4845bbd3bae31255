"""``rebalance compare``: a variant whose runs are no success is marked, and never called best."""

from __future__ import annotations

import pytest

import emulator

from ..commands import rebalance

NAME = "readiness-waits-for-a-partition"
BROKEN, ALIVE, IN_TURN = (
    "surge, probe sees a partition",
    "surge, probe sees the process",
    "one by one, probe sees a partition",
)
REASON = "deploy stopped: a rolling restart of billing stopped: billing-0+ is not ready"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return what the command says as text, JSON and a page, played once each."""
    page = tmp_path_factory.mktemp("page") / "page.html"
    text = rebalance("compare", NAME, "--jobs", 1, "--html", page).out
    document = rebalance("compare", NAME, "--jobs", 1, "--json").document
    return text, document, page.read_text()


@pytest.mark.long
def test_a_deploy_that_stopped_is_not_the_best_row(outputs):
    """It reprocesses nothing, because it changes nothing."""
    text, _, _ = outputs
    row = next(line for line in text.splitlines() if line.startswith(f"| {BROKEN}"))

    assert "| deploy stopped " in row
    assert REASON in " ".join(text.split())
    assert f"{IN_TURN}; {ALIVE}. Not ranked: {BROKEN}." in " ".join(text.split())


@pytest.mark.long
def test_json_ranks_the_others_and_gives_the_reason(outputs):
    """In the same words."""
    _, document, _ = outputs
    first, *others = document["variants"]

    assert [IN_TURN, ALIVE] == document["ranked"]
    assert ["deploy stopped"] == [each["reason"] for each in first["disqualified"]]
    assert not any(each["disqualified"] for each in others)


def test_the_page_does_not_rank_it(outputs):
    """Its answer names it first, with the reason."""
    _, _, page = outputs

    assert f"Not ranked: {BROKEN}: {REASON}" in page


@pytest.mark.long
def test_markdown_marks_it_too():
    """As a column of the transposed table."""
    out = rebalance("compare", NAME, "--jobs", 1, "--markdown").out

    assert f"| {BROKEN} | deploy stopped |" in out
    assert f"Not ranked: {BROKEN}." in out


def test_without_a_variant_that_can_be_best_none_is():
    """A run that ends in the rebalance proves nothing."""
    out = rebalance(
        "compare", "member-crashes", "--jobs", 1, "--set", "run_for=95s", "--with", "eager"
    ).out

    assert "None can be called best" in out


def test_the_library_says_it_too():
    """For tables."""
    compared = emulator.compare("quiet", ["eager"], overrides=["run_for=5s"], jobs=1)

    assert "disqualified" in compared.to_arrow().column_names


def test_a_column_is_marked_itself_not_its_difference():
    """A row for each reason; the columns stay narrow."""
    few = ("--set", "run_for=95s", "--with", "eager", "--with", "quick: run_for=3min")
    out = rebalance("compare", "member-crashes", "--jobs", 1, *few).out
    (row,) = [line for line in out.splitlines() if line.startswith("| disqualified: inconclusive")]

    assert ["yes", "", ""] == [cell.strip() for cell in row.strip("|").split("|")[1:]]


OVERLOADED = """
title = "two members for four times their capacity"
run_for = "20s"
topic = [{ name = "orders", partitions = 4, rate = "40/s" }]
fault = [{ crash = "billing-1", at = "8s" }]
group = [{ id = "billing", topics = ["orders"], members = 2, work = "20ms" }]
[expect]
lost = 0
"""
SHORT = "short: group[billing].settings[session.timeout.ms]=6s"


def test_an_overload_of_all_variants_is_said_once_and_keeps_the_ranking(tmp_path):
    """It does not tell one from another; whatever else disqualifies one still does."""
    path, page = tmp_path / "over.toml", tmp_path / "page.html"
    path.write_text(OVERLOADED)
    given = ("compare", path, "--with", "eager", "--with", SHORT, "--html", page)
    out = " ".join(rebalance(*given).out.split())

    assert 1 == out.count("overload: 160 records arrive for billing per second")
    assert "Best first among overloaded variants, by lost" in out
    assert ": short. Not ranked: eager." in out
    assert ["short"] == rebalance(*given, "--json").document["ranked"]
    assert 1 == page.read_text().count("For all variants: overload: 160 records")


def test_variants_that_only_an_overload_disqualifies_are_ranked_among_themselves(tmp_path):
    """Those without one are ranked as before."""
    path = tmp_path / "over.toml"
    path.write_text(OVERLOADED)
    timed = [
        f"{SHORT}, group[billing].work={ms}ms".replace("short", f"of-{ms}") for ms in (1, 20, 40)
    ]
    given = ("compare", path, *(part for each in timed for part in ("--with", each)))
    out = " ".join(rebalance(*given).out.split())

    assert "(s): of-1. Best first among overloaded variants: of-20; of-40." in out
    assert "Not ranked" not in out
    assert ["of-1"] == rebalance(*given, "--json").document["ranked"]


def test_an_overload_of_one_variant_disqualifies_it(tmp_path):
    """The other one processes what arrives."""
    path = tmp_path / "over.toml"
    path.write_text(OVERLOADED)
    out = rebalance(
        "compare", path, "--with", "eager", "--with", "fast: group[billing].work=5ms"
    ).out

    assert "warning: eager: overload" in out
