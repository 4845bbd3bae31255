"""The policies and happenings that are tried, with the times that were seen."""

from __future__ import annotations

import pytest

from emulator.blaming.hypotheses import completed, happenings, policies
from emulator.blaming.setup import scenario_of
from emulator.blaming.symptoms import symptoms_of
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.part import ScenarioSource

from .incidents import SECOND, SETUP, evidence, steady

STOPPED = evidence(
    steady("a", 0, 1, 20),
    steady("b", 1, 1, 40),
    commits=[(5, 1, 40), (9.97, 1, 90), (14.96, 1, 140)],
)
RETURNED = evidence(steady("a", 0, 1, 20), steady("a", 0, 30, 40, first=190), steady("b", 1, 1, 40))
GREW = evidence(steady("a", 0, 1, 40), steady("c", 1, 20, 40), generations=(0, 19))


def names(seen):
    return [each.name for each in happenings(symptoms_of(seen), "billing")]


def test_what_is_tried_depends_on_what_was_seen():
    """No return is tried for a consumer that stays away, and no crash where none stopped."""
    assert "crash" in names(STOPPED)
    assert "crash and return" not in names(STOPPED)
    assert {"crash and return", "restart", "pause", "hang", "cut"} <= set(names(RETURNED))
    assert "crash" not in names(RETURNED)
    assert ["nothing", "coordinator crash", "coordinator pause", "partitions added", "join"] == (
        names(GREW)
    )


def test_the_interval_of_automatic_commits_is_the_one_seen():
    automatic = policies(STOPPED)[0]

    assert (("auto.commit.interval.ms", 4_900),) == automatic.settings


@pytest.mark.parametrize("seen", [STOPPED, RETURNED, GREW], ids=["stopped", "returned", "grew"])
def test_each_explanation_is_a_valid_scenario(seen):
    symptoms = symptoms_of(seen)
    base = scenario_of(SETUP, seen, symptoms)
    for policy in policies(seen):
        for happening in happenings(symptoms, "billing"):
            table = completed(base, policy, happening, 15 * SECOND)
            scenario = checked(tidy(table), ScenarioSource("blame"))
            assert len(happening.faults) + len(happening.acts) == len(scenario.fault)


def test_faults_begin_at_the_onset():
    symptoms = symptoms_of(STOPPED)
    crash = next(each for each in happenings(symptoms, "billing") if each.name == "crash")
    base = scenario_of(SETUP, STOPPED, symptoms)
    table = completed(base, policies(STOPPED)[0], crash, 15 * SECOND)

    assert [{"crash": "a", "at": "15.000s"}] == table["fault"]


def test_rates_work_times_and_settings_are_those_of_the_logs():
    base = scenario_of(SETUP, STOPPED, symptoms_of(STOPPED))
    (topic,), (group,) = base["topic"], base["group"]

    assert ("orders", 2, "7.45/s") == (topic["name"], topic["partitions"], topic["rate"])
    assert "10000us" == group["work"]
    assert 6_000 == group["settings"]["session.timeout.ms"]
    assert ["a", "b"] == [member["name"] for member in group["member"]]


def test_a_group_that_always_works_has_a_backlog():
    busy = evidence(steady("a", 0, 1, 20, every_s=0.01), steady("b", 1, 1, 40, every_s=0.01))
    (topic,) = scenario_of(SETUP, busy, symptoms_of(busy))["topic"]

    assert ("0.01/s", 2900) == (topic["rate"], topic["backlog"])
