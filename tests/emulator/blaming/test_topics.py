"""What the logs show of topics, and what is tried then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from emulator.blaming.case import case_of
from emulator.blaming.completing import completed
from emulator.blaming.evidence import Evidence
from emulator.blaming.happening import Happening
from emulator.blaming.hypotheses import happenings
from emulator.blaming.policies import policies
from emulator.blaming.setup import scenario_of
from emulator.blaming.symptoms import symptoms_of
from emulator.blaming.topic_causes import OVERTAKEN
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.part import ScenarioSource

from .incidents import SECOND, SETUP, evidence, steady

COMMITS = [(5, 0, 40), (10, 0, 90), (5, 1, 40), (10, 1, 90)]

RECREATED = evidence(
    *(steady("ab"[number], number, 1, 15) for number in (0, 1)),
    *(steady("ab"[number], number, 20, 30) for number in (0, 1)),
    commits=COMMITS,
    generations=(0, 19),
)


def of_topic(seen: Evidence, consumer: str, name: str) -> Evidence:
    """Return evidence in which one consumer's records are those of another topic."""
    work = (
        replace(done, partition=TopicPartition(name, done.partition.partition))
        if done.consumer == consumer
        else done
        for done in seen.work
    )
    return replace(seen, work=tuple(work))


CREATED = of_topic(
    evidence(steady("a", 0, 1, 40), steady("b", 1, 20, 40), generations=(0, 19)), "b", "refunds"
)

OVERTAKEN_PAUSE = evidence(
    steady("a", 0, 1, 15),
    steady("a", 0, 27, 27.5, first=140),
    steady("a", 0, 27.5, 40, first=220),
    steady("b", 1, 1, 40),
    commits=COMMITS,
)
"""It goes on with five fetched records, at the age of 12 s; the next ones are 4.5 s old."""


def named(seen: Evidence) -> dict[str, Happening]:
    return {each.name: each for each in happenings(symptoms_of(seen), SETUP)}


def test_a_topic_that_begins_at_offset_0_again_was_recreated():
    """It is gone from the last record on, and back before the first one: the onset is the deletion."""
    symptoms = symptoms_of(RECREATED)
    [absence] = symptoms.recreated
    deleted, created = named(RECREATED)["topic recreated"].acts

    assert ("orders", 20 * SECOND) == (absence.topic, absence.back_us)
    assert absence.gone_us == symptoms.onset_us < 15 * SECOND
    assert ({"delete_topic": "orders", "at": 0}, "orders") == (deleted, created["create_topic"])
    assert 19 < (symptoms.onset_us + created["at"]) / SECOND < 20


def test_a_group_without_commits_that_begins_anew_shows_no_recreated_topic():
    assert () == symptoms_of(replace(RECREATED, commits=())).recreated


def test_one_partition_of_two_that_begins_anew_is_no_recreated_topic():
    one = evidence(steady("a", 0, 1, 15), steady("a", 0, 20, 30), steady("b", 1, 1, 30))

    assert () == symptoms_of(replace(one, commits=RECREATED.commits)).recreated


def test_a_topic_with_records_behind_a_new_generation_was_created():
    """The time before the incident is played without it."""
    assert (("refunds", 20 * SECOND),) == symptoms_of(CREATED).appeared
    assert "topic created" in named(CREATED)
    case = case_of(CREATED, SETUP)
    assert ["orders"] == [topic["name"] for topic in case.base_before["topic"]]
    assert ["orders"] == case.base_before["group"][0]["topics"]


def test_a_topic_without_a_new_generation_was_not_created():
    assert () == symptoms_of(replace(CREATED, generations_us=(0,))).appeared


def test_a_gap_behind_a_stop_tells_how_long_records_were_kept():
    [(topic, kept_us)] = symptoms_of(OVERTAKEN_PAUSE).retentions.items()
    paused = named(OVERTAKEN_PAUSE)["pause" + OVERTAKEN]

    assert ("orders", pytest.approx(4.5 * SECOND, abs=SECOND // 5)) == (topic, kept_us)
    assert {"orders"} == set(paused.topics)
    assert "pause" in named(OVERTAKEN_PAUSE)


def test_a_stop_without_a_gap_tells_nothing_of_retention():
    seen = evidence(steady("a", 0, 1, 15), steady("a", 0, 27, 40, first=140), steady("b", 1, 1, 40))

    assert {} == symptoms_of(seen).retentions


@pytest.mark.parametrize("seen", [RECREATED, CREATED, OVERTAKEN_PAUSE])
def test_all_that_is_tried_is_a_valid_scenario(seen):
    symptoms = symptoms_of(seen)
    base = scenario_of(SETUP, seen, symptoms)
    for each in happenings(symptoms, SETUP):
        table = completed(base, policies(seen, SETUP)[0], each, 20 * SECOND)
        assert checked(tidy(table), ScenarioSource("blame")).topic
