"""Processes with the instance id of a static member that still runs."""

from __future__ import annotations

from dataclasses import replace

from emulator.blaming.completing import completed
from emulator.blaming.happening import BUT_REFUSED, NOTHING
from emulator.blaming.hypotheses import happenings
from emulator.blaming.policies import policies
from emulator.blaming.setup import scenario_of
from emulator.blaming.static_members import Replaced
from emulator.blaming.symptoms import symptoms_of
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.part import ScenarioSource

from .incidents import SECOND, SETUP, evidence, steady

STATIC = replace(SETUP, is_static=True)

TAKEN_OVER = evidence(
    steady("a", 0, 1, 20), steady("b", 1, 1, 40), steady("c", 0, 19, 40, first=180)
)
"""The former member works on for a second, until it is fenced."""


def test_a_consumer_with_all_partitions_of_another_one_has_replaced_it():
    assert (Replaced("a", "c", 19 * SECOND),) == symptoms_of(TAKEN_OVER).replaced


def test_a_new_generation_replaces_nobody():
    """It has given the partitions away."""
    assert () == symptoms_of(replace(TAKEN_OVER, generations_us=(0, 18 * SECOND))).replaced


def test_a_consumer_with_part_of_the_partitions_replaces_nobody():
    seen = evidence(
        steady("a", 0, 1, 20),
        steady("a", 2, 1, 20),
        steady("b", 1, 1, 40),
        steady("c", 0, 20, 40, first=190),
    )

    assert () == symptoms_of(seen).replaced


def test_the_successor_starts_with_the_instance_id_of_the_former_member():
    symptoms = symptoms_of(TAKEN_OVER)
    base = scenario_of(STATIC, TAKEN_OVER, symptoms)
    found = {each.name: each for each in happenings(symptoms, STATIC)}
    table = completed(
        base, policies(TAKEN_OVER, STATIC)[0], found["static member replaced"], 20 * SECOND
    )
    assert checked(tidy(table), ScenarioSource("blame")).topic
    acts = [(act["start"], act["at"]) for act in table["act"]]
    members = {each["name"]: each for each in table["group"][0]["member"]}

    assert {"name": "c", "start": "by act", "settings": {"group.instance.id": "a"}} == members["c"]
    assert {"group.instance.id": "b"} == members["b"]["settings"]
    assert [("c", "20.000s")] == acts


def test_members_without_an_instance_id_are_not_replaced():
    names = [each.name for each in happenings(symptoms_of(TAKEN_OVER), SETUP)]

    assert "static member replaced" not in names


def test_a_process_that_the_consumer_protocol_refuses_is_an_alternative_of_nothing():
    """It leaves nothing in the two logs; a classic group lets it in."""
    symptoms = symptoms_of(TAKEN_OVER)
    refused = replace(STATIC, protocol="consumer")
    found = {each.name: each for each in happenings(symptoms, refused)}
    one = found[NOTHING.name + BUT_REFUSED]

    assert {"a+": {"group.instance.id": "a"}} == one.members
    assert NOTHING.name == one.family
    assert one.name not in [each.name for each in happenings(symptoms, STATIC)]


def test_the_next_process_of_a_crashed_static_member_may_have_been_refused():
    """The consumer protocol refuses it until the session has expired; it leaves nothing in the two logs."""
    gone = symptoms_of(evidence(steady("a", 0, 1, 20), steady("b", 1, 1, 40)))
    found = {each.name: each for each in happenings(gone, replace(STATIC, protocol="consumer"))}
    one = found["crash" + BUT_REFUSED]

    assert "crash" == one.family
    assert [("a", "1s")] == [(each["crash"], each["restart_after"]) for each in one.faults]
    assert one.name not in [each.name for each in happenings(gone, STATIC)]
