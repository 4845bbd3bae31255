"""The JSON Schema takes what the reader takes, and knows Kafka's settings."""

from __future__ import annotations

import tomllib
from datetime import datetime
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from emulator.scenario import catalogue
from emulator.scenario.kafka_settings import BROKER, CONSUMER
from emulator.scenario.schema import file_schema
from emulator.scenario.short_forms import TARGETS

from .documents import files
from .samples import SMALLEST, text

schema = cache(file_schema)


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def as_json(value: Any) -> Any:
    """Return a document as an editor sees it: dates are texts."""
    match value:
        case dict():
            return {key: as_json(below) for key, below in value.items()}
        case list():
            return [as_json(item) for item in value]
        case datetime():
            return value.isoformat()
    return value


def complaints(content: str) -> list[str]:
    """Return what the schema says of a file."""
    return [error.message for error in validator().iter_errors(as_json(tomllib.loads(content)))]


@pytest.mark.long
def test_the_schema_is_a_schema():
    """It follows draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_of_the_catalogue_is_valid(name):
    """An editor accepts all shipped scenarios."""
    assert [] == complaints(catalogue.read(name))


@pytest.mark.long
@given(files())
@settings(max_examples=60)
def test_every_file_that_reads_is_valid(document):
    """The schema accepts every document that the reader accepts."""
    assert [] == [error.message for error in validator().iter_errors(document)]


@pytest.mark.parametrize(
    "change",
    [
        ("members", "membres"),
        ('"20/s"', "20"),
        ('"10min"', '"10"'),
        ("session.timeout.ms", "sesion.timeout.ms"),
        ("6000", "-1"),
        ('at = "5min"', ""),
        ('at = "5min"', 'at = "5min"\nbetween = ["1s", "2s"]'),
        ("crash", "crush"),
        ("partitions = 6", 'partitions = "6"'),
        ("[[fault]]", "[fault]"),
        ("members = 3", ""),
    ],
)
def test_the_schema_refuses_errors_within_one_table(change):
    """An editor sees misspellings, missing units and wrong types."""
    assert [] != complaints(text(change))


def test_dotted_settings_are_valid():
    """Unquoted names nest in TOML; that is valid too."""
    assert [] == complaints(f"{SMALLEST}\n[cluster.settings]\ngroup.max.size = 5\n")
    assert [] != complaints(f"{SMALLEST}\n[cluster.settings]\ngroup.max.sise = 5\n")


def test_every_setting_has_its_type_and_meaning():
    """Kafka's settings are listed with a description and a default in Kafka's unit."""
    for known, name in ((CONSUMER, "ConsumerSettings"), (BROKER, "BrokerSettings")):
        properties = schema()["$defs"][name]["properties"]

        assert known.keys() <= properties.keys()
        assert all(properties[setting]["description"] for setting in known)
    assert (
        45_000
        == schema()["$defs"]["ConsumerSettings"]["properties"]["session.timeout.ms"]["default"]
    )


def test_every_verb_is_a_key_of_its_own_table():
    """Faults are listed as files write them."""
    tables = [
        schema()["$defs"][item["$ref"].rsplit("/")[-1]]
        for item in schema()["properties"]["fault"]["items"]["anyOf"]
    ]

    assert set(TARGETS) == {table["required"][0] for table in tables}
    assert all("verb" not in table["properties"] for table in tables)


def test_keys_have_descriptions_and_defaults_in_words_of_the_file():
    """Notes of the source and spelled defaults reach the editor."""
    topic = schema()["$defs"]["Topic"]["properties"]

    assert "Records in each partition before the run begins." == topic["backlog"]["description"]
    assert ("1KiB", "0/s") == (topic["record_size"]["default"], topic["rate"]["default"])
