"""Convert a scenario to a document, to its hash, and to the manifest of every result."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from emulator.scenario import short_forms
from emulator.scenario.model import Group, Scenario
from emulator.scenario.part import Document
from emulator.scenario.resolution import broker_settings, consumer_settings, settings_in_force
from emulator.scenario.units import format_duration
from emulator.versions import KAFKA, SCHEMA_VERSION


def dump(scenario: Scenario) -> Document:
    """Return a scenario as the document of a file: full spelling, without defaults.

    Reading it again gives an equal scenario.
    """
    document = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if not scenario.until_settled:
        run_for = format_duration(scenario.run_for)
        document = {"title": document["title"], **document, "run_for": run_for}
    if scenario.start is not None:
        document["start"] = scenario.start
    document["group"] = [_spelled_group(group) for group in document["group"]]
    if scenario.fault:
        verbs = [fault.verb for fault in scenario.fault]
        document["fault"] = [
            _spelled_fault(verb, table)
            for verb, table in zip(verbs, document["fault"], strict=True)
        ]
    return document


def _spelled_group(table: Document) -> Document:
    spelled = {("member" if key == "members" else key): value for key, value in table.items()}
    if spelled.get("handler") == {}:  # a batch listener without keys of its own
        spelled["handler"] = "batch"
    return spelled


def _spelled_fault(verb: str, table: Document) -> Document:
    target = short_forms.TARGETS[verb]
    rest = {key: value for key, value in table.items() if key not in ("verb", target)}
    return {verb: table[target], **rest}


def scenario_hash(scenario: Scenario) -> str:
    """Return 16 hexadecimal digits that identify a scenario, independent of its seed.

    Spelling, order of keys, comments and defaults written out make no difference.
    """
    document = {key: value for key, value in dump(scenario).items() if key != "seed"}
    text = json.dumps(document, sort_keys=True, default=str, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:16]


def manifest(scenario: Scenario) -> dict[str, Any]:
    """Return the versions, the scenario's hash, and all settings in force by Kafka's names.

    ``group`` has the settings of each group's first member; ``member`` the differences from them.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "scenario": scenario.title,
        "scenario_hash": scenario_hash(scenario),
        "settings": {
            "cluster": settings_in_force(broker_settings(scenario.cluster)),
            "group": {group.id: _in_force(group)[0] for group in scenario.group},
            "member": {
                name: differing
                for group in scenario.group
                for name, differing in _in_force(group)[1].items()
            },
        },
    }


def _in_force(group: Group) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    by_member = {
        member.name: settings_in_force(consumer_settings(group, member)) for member in group.members
    }
    first = next(iter(by_member.values()))
    differing = {
        name: {key: value for key, value in settings.items() if value != first[key]}
        for name, settings in by_member.items()
    }
    return first, {name: changes for name, changes in differing.items() if changes}
