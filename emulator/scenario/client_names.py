"""Read settings that a scenario writes under the names of a client other than Java's."""

from __future__ import annotations

from typing import Any

from emulator.scenario.kafka_settings import STRATEGY, flattened
from emulator.scenario.problems import hint, refuse
from protocols.consumer.clients import CLIENTS, ClientProfile, profile_of


def with_kafkas_names(group: Any) -> Any:
    """Return a group as a file has it, its settings under Kafka's names instead of its client's.

    Other keys, and values, stay as they are; what is no table is left to later checks.
    """
    if not isinstance(group, dict):
        return group
    client = group.get("client", CLIENTS[0])
    changed = dict(group)
    if "settings" in group:
        changed["settings"] = _renamed(group["settings"], client)
    if isinstance(group.get("members"), list | tuple):
        changed["members"] = type(group["members"])(
            _member_renamed(member, client) for member in group["members"]
        )
    return changed


def _member_renamed(member: Any, client: object) -> Any:
    if not isinstance(member, dict) or "settings" not in member:
        return member
    mine = member.get("client") or client
    return {**member, "settings": _renamed(member["settings"], mine)}


def _renamed(table: Any, client: object) -> Any:
    if client not in CLIENTS[1:] or not isinstance(table, dict):
        return table
    profile = profile_of(str(client))
    found: dict[str, object] = {}
    for name, value in flattened(table):
        kafkas = profile.names.get(name, name)
        if kafkas in found:
            raise refuse("settings", [((name,), value, f"given twice, also as {kafkas}")])
        if kafkas == name and "." not in name and name not in profile.names:
            near = hint(name, profile.names)
            raise refuse(
                "settings", [((name,), value, f"{profile.name} has no such setting{near}")]
            )
        found[kafkas] = _assignors(value, profile) if kafkas == STRATEGY else value
    return found


def _assignors(value: object, profile: ClientProfile) -> object:
    """Return names of assignors as Kafka has them."""
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    if not isinstance(value, list | tuple):
        return value
    return [profile.assignors.get(str(name), name) for name in value]
