"""Commits of a deleted topic are named as the reason why partitions wait, for the group that sends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.advising import reported
from emulator.loading import ScenarioText, load_text
from emulator.report.hints.given import hints_of
from emulator.verdicts.verdict import VerdictId

TOPICS = 'topic = [{ name = "orders", partitions = 2, rate = "5/s" }, { name = "returns" }]\n'
GROUPS = """
[[group]]
id = "audit"
topics = ["orders"]
members = 1
[[group]]
id = "billing"
topics = ["orders", "returns"]
members = 2
settings = { "auto.offset.reset" = "earliest", "default.api.timeout.ms" = "20s" }
commit = { call = "sync", on_revoke = true }
[[act]]
delete_topic = "returns"
at = "20s"
[[act]]
subscribe = "billing"
topics = ["orders"]
"""


def played(subscribed_at: str):
    """Return the report of a run in which billing unsubscribes from returns at this time."""
    text = f'title = "deleted"\nrun_for = "70s"\n{TOPICS}{GROUPS}at = "{subscribed_at}"\n'
    return reported(load_text(ScenarioText("deleted", "deleted", text, Path())), 0)[1]


@pytest.mark.parametrize(("subscribed_at", "deleted_first"), [("25s", True), ("10s", False)])
def test_commits_in_a_revocation_that_name_a_deleted_topic_are_a_problem(
    subscribed_at, deleted_first
):
    """Java repeats them until default.api.timeout.ms (UNKNOWN_TOPIC_OR_PARTITION is retriable)."""
    report = played(subscribed_at)
    problems = [each for each in report.verdicts if each.id is VerdictId.DELETED_TOPIC]
    hints = [(each.id, each.group) for each in hints_of(report)]

    assert deleted_first == bool(problems)
    assert deleted_first == (("unsubscribe-first", "billing") in hints)
    assert deleted_first == (report.metrics["downtime_max.by_group[billing]"] > 15)
    assert report.metrics["downtime_max.by_group[audit]"] == 0


def test_the_problem_says_which_topic_how_long_and_the_error():
    """The longest series of repetitions, and the group that waits."""
    (problem,) = [each for each in played("25s").verdicts if each.id is VerdictId.DELETED_TOPIC]

    assert problem.group == "billing"
    assert "repeated commits of returns, which had been deleted" in problem.sentence
    assert "(UNKNOWN_TOPIC_OR_PARTITION)" in problem.sentence
    assert problem.numbers["longest_s"] == pytest.approx(20, abs=1.5)
