"""The manifest of a scenario in a result: its hash, the settings in force, its content."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.part import ScenarioSource
from emulator.scenario.writing import dump, manifest, scenario_hash

from .documents import scenarios
from .samples import read


@pytest.mark.long
@given(scenarios())
@settings(max_examples=60)
def test_reading_a_dump_gives_the_same_scenario(scenario):
    """A dump says all that the scenario says, in the words of a file."""
    document = dump(scenario)

    assert scenario == scenario_of(tidy(document), ScenarioSource("dump"))
    assert scenario_hash(scenario) == scenario_hash(
        scenario_of(tidy(document), ScenarioSource("dump"))
    )


def test_spelling_makes_no_difference_to_the_hash():
    """Defaults written out, units and order of keys leave the hash as it is."""
    same = read(
        ('run_for = "10min"', 'seed = 9\nrun_for = "600s"\ndescription = ""'),
        ("members = 3", 'members = ["billing-0", "billing-1", "billing-2"]\nstatic = false'),
    )

    assert scenario_hash(read()) == scenario_hash(same)


def test_the_hash_is_the_same_in_every_version():
    """The hash of one scenario, written down once; it may only change with the schema version."""
    assert "15b42c2f6405e1cc" == scenario_hash(read())


def test_content_makes_a_difference_to_the_hash():
    """Another number is another scenario."""
    assert scenario_hash(read()) != scenario_hash(read(('at = "5min"', 'at = "301s"')))


def test_the_manifest_has_versions_and_settings_in_force():
    """Results carry the versions, the hash, and every setting, defaults included."""
    scenario = read(
        (
            "[[fault]]",
            '[[group.member]]\nname = "billing-2"\nsettings.max.poll.records = 5\n[[fault]]',
        )
    )
    values = manifest(scenario)

    assert (1, "4.4.0") == (values["schema_version"], values["kafka"])
    assert scenario_hash(scenario) == values["scenario_hash"]
    assert 6_000 == values["settings"]["group"]["billing"]["session.timeout.ms"]
    assert 3_000 == values["settings"]["group"]["billing"]["heartbeat.interval.ms"]
    assert {"billing-2": {"max.poll.records": 5}} == values["settings"]["member"]
    assert 50 == values["settings"]["cluster"]["offsets.topic.num.partitions"]
    assert json.dumps(values)
