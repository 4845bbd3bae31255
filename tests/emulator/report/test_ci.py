"""Expectations for CI servers: a JUnit file, and annotations of GitHub."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from emulator.metrics.checks import Expected
from emulator.report.ci import Suite, github_commands, junit

GOOD = Expected("lost", "==", 0, 0, ok=True, message="lost is 0, expected == 0")
BAD = Expected(
    "reprocessed.p95", "<=", 5, 9, ok=False, message="p95 is 9, expected <= 5\n100 % of runs"
)


def suite(*expectations, file=None):
    return Suite(
        name="deploy.toml",
        title="a deploy, twice",
        expectations=expectations,
        screen=["9 records <were> reprocessed\x1b[0m", "…"],
        file=file,
    )


def test_each_expectation_is_a_case():
    """A failed one has its message and the report; characters that XML cannot have are replaced."""
    root = ET.fromstring(junit(suite(GOOD, BAD)))

    (cases,) = root
    assert {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"} == root.attrib
    assert cases.get("name") == "a deploy, twice"
    good, bad = cases.findall("testcase")
    assert (good.get("classname"), good.get("name")) == ("deploy.toml", "lost == 0")
    assert list(good) == []
    (failure,) = bad
    assert failure.get("message") == BAD.message
    assert failure.text == cases.findtext("system-out")
    assert failure.text == "9 records <were> reprocessed?[0m\n…"


def test_an_inconclusive_expectation_says_that_it_is():
    """Its message alone reads as if the bound held."""
    short = Expected(
        "lost", "==", 0, 0, ok=False, message="lost is 0: too short", inconclusive=True
    )
    root = ET.fromstring(junit(suite(short)))

    assert "inconclusive: lost is 0: too short" == root.find(".//failure").get("message")
    (command, *_) = github_commands(suite(short))
    assert command.endswith("::inconclusive: lost is 0: too short")


def test_a_scenario_without_expectations_has_a_skipped_case():
    """It has not passed: nothing was checked."""
    root = ET.fromstring(junit(suite()))

    assert (root.get("tests"), root.get("skipped"), root.get("failures")) == ("1", "1", "0")
    assert "no [expect]" in root.find(".//skipped").get("message")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('title = "a"\n[expect]\nlost = 0\n"reprocessed.p95" = "<= 5"\n', 4),
        ("reprocessed = 3\n[expect.reprocessed]\np95 = 5\n", 3),
        ("\n\nexpect.reprocessed.p95 = 5\n", 3),
        ("\n[expect]\n", 2),
    ],
)
def test_a_failure_is_annotated_at_its_line(tmp_path, text, line):
    """In GitHub's escapes."""
    path = tmp_path / "deploy.toml"
    path.write_text(text, encoding="utf-8")

    assert list(github_commands(suite(GOOD, BAD, file=path))) == [
        (
            f"::error file={path},line={line},title=a deploy%2C twice::"
            "p95 is 9, expected <= 5%0A100 %25 of runs"
        )
    ]
