"""With several groups each hint goes by the figures of its own group, whatever their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.advising import reported
from emulator.loading import ScenarioText, load_text
from emulator.report.hints.given import hints_of
from emulator.verdicts.verdict import VerdictId

TOPIC = '[[topic]]\nname = "orders"\npartitions = 4\nrate = "10/s"\n'

STRATEGY = 'settings = { "partition.assignment.strategy" = "range" }'
STATIC = 'static = true\nsettings = { "session.timeout.ms" = "10s" }'


def group(name: str, *lines: str) -> str:
    keys = [f'id = "{name}"', 'topics = ["orders"]', "members = 2", *lines]
    return "\n".join(["[[group]]", *keys, ""])


def played(act: str, *groups: str, run_for: str = "60s"):
    text = f'title = "two groups"\nrun_for = "{run_for}"\n{TOPIC}' + "".join(groups) + act
    return reported(load_text(ScenarioText("two groups", "two groups", text, Path())), 0)[1]


def hints(act: str, *groups: str, run_for: str = "60s") -> set[tuple[str, str]]:
    report = played(act, *groups, run_for=run_for)
    return {(hint.id, hint.group) for hint in hints_of(report)}


DEPLOY = '[[act]]\nat = "20s"\nrolling_restart = "billing"\ngap = "8s"\ndown_time = "2s"\n'


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_only_the_group_that_is_deployed_gets_hints_on_restarts(places):
    """The first group of a file may be another one."""
    groups = [group("billing", STRATEGY), group("audit", STRATEGY)]

    found = hints(DEPLOY, *(groups[place] for place in places))

    assert found == {("static-membership", "billing"), ("cooperative", "billing")}


def test_only_the_group_whose_static_members_are_late_is_told_so():
    """A restart of one group says nothing on the sessions of another."""
    act = '[[fault]]\nat = "20s"\ncrash = "billing-0"\nrestart_after = "20s"\n'

    found = hints(act, group("audit", STATIC), group("billing", STATIC))

    assert ("session-above-restarts", "billing") in found
    assert "audit" not in {name for _, name in found}


def test_only_the_group_in_which_a_member_dies_is_told_of_a_shorter_session():
    """It was the group with the longest session."""
    long = 'settings = { "session.timeout.ms" = "60s" }'
    act = '[[fault]]\nat = "15s"\ncrash = "billing-0"\n'

    found = hints(act, group("audit", long), group("billing"), run_for="90s")

    assert ("shorter-session", "billing") in found
    assert "audit" not in {name for _, name in found}


@pytest.mark.parametrize(
    ("members", "restart_after", "is_given"),
    [(1, "5s", True), (1, "60s", False), (2, "60s", True)],
)
def test_a_shorter_session_is_of_use_where_another_process_waits_for_the_partitions(
    members, restart_after, is_given
):
    """A group of one member has nobody to give them to before its restart."""
    act = f'[[fault]]\nat = "15s"\ncrash = "billing-0"\nrestart_after = "{restart_after}"\n'
    billing = group("billing").replace("members = 2", f"members = {members}")

    assert is_given == (("shorter-session", "billing") in hints(act, billing, run_for="120s"))


def test_a_shorter_session_is_no_help_where_a_rebalance_waited_much_longer():
    """The members died while the group waited for one that did not poll."""
    long = 'settings = { "max.poll.interval.ms" = "400s", "session.timeout.ms" = "15s" }'
    acts = (
        '[[fault]]\nat = "15s"\nhang = "billing-0"\nfor = "300s"\n'
        '[[fault]]\nat = "20s"\ncrash = "billing-1"\nrestart_after = "1s"\n'
    )
    report = played(acts, group("billing", long), run_for="400s")

    assert report.metrics["downtime_max_s"] > 200
    assert report.metrics["evictions"] == 1
    assert "shorter-session" not in {hint.id for hint in hints_of(report)}


def test_a_long_downtime_is_one_of_its_group():
    """Rebalances of other groups do not explain it, and its hints name the settings of its group."""
    long = 'settings = { "session.timeout.ms" = "70s" }'
    act = '[[fault]]\nat = "15s"\ncrash = "billing-0"\n'

    verdicts = played(act, group("audit"), group("billing", long), run_for="120s").verdicts
    (found,) = [each for each in verdicts if each.id is VerdictId.LONG_DOWNTIME]

    assert found.group == "billing"
    assert "billing/orders-" in found.sentence
