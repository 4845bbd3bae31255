"""Drafts of changes: a reason, the settings to change in reality, and the same in the scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from emulator.advice.situation import RECORDS, Situation
from emulator.report.subject import SET_BY_BROKERS
from emulator.scenario.deploys import deploys_of
from emulator.scenario.model import Group
from protocols.consumer.clients import Amount, profile_of

MARGIN: Final = 1.25
"""A limit is this many times what has to fit into it: no value stands at the edge."""

CLOSING_S: Final = 1.0
"""Time for the last commit and close() after a batch."""

STRATEGY: Final = "partition.assignment.strategy"


class Draft(NamedTuple):
    """A change that applies to a situation."""

    why: str
    settings: tuple[str, ...]
    overrides: tuple[str, ...]


Make = Callable[[Situation], Draft | None]
"""Returns the change for a situation; None: it does not apply, or changes nothing."""


def consumer(situation: Situation, name: str, value: object, why: str) -> Draft | None:
    """Return the change of one consumer setting, of the group or, if brokers set it, of theirs.

    None if it has this value, or if a deploy of the scenario sets it.
    """
    if situation.facts.value(name) == value or _deployed(situation, name):
        return None
    if situation.facts.name_of(name) != name:
        return _of_brokers(situation, name, value, why)
    return Draft(why, (f"{name}={value}",), of_group(situation.group, name, value))


def batches_of(situation: Situation, records: int, why: str) -> Draft | None:
    """Return the change of the size of a group's batches; None: it is no setting, or members have their own."""
    if RECORDS not in situation.facts.lacks:
        return consumer(situation, RECORDS, records, why)
    group = situation.group
    own = any(member.read_with or member.read_records for member in group.members)
    calls = {_bounded_read(name) for name in situation.facts.clients}
    if own or None in calls or len(calls) > 1:
        return None
    call = calls.pop()
    path = f"group[{group.id}]"
    overrides = (f"{path}.read_with={call}", f"{path}.read_records={records}")
    return Draft(why, (f"{call} of {records} records",), overrides)


def _bounded_read(client: str) -> str | None:
    """Return the call of a client that takes a number of records; None: it has none."""
    reads = profile_of(client).reads
    return next((call for call, amount in reads.items() if amount is Amount.GIVEN), None)


def _of_brokers(situation: Situation, name: str, value: object, why: str) -> Draft:
    """Return the change of a time that brokers set, with that of their limit which forbids it."""
    draft = Draft(why, (), ())
    for each in (
        f"group.consumer.{name}",
        *_limits_beyond(situation, "group.consumer", name, value),
    ):
        draft = also_of_brokers(draft, each, value)
    return draft


def _limits_beyond(situation: Situation, kind: str, name: str, value: object) -> Iterator[str]:
    """Yield the limit of the brokers for a time that a value is beyond: Kafka refuses it."""
    low, high = f"{kind}.min.{name}", f"{kind}.max.{name}"
    if name in SET_BY_BROKERS and int(str(value)) < int(situation.brokers[low]):
        yield low
    if name in SET_BY_BROKERS and int(str(value)) > int(situation.brokers[high]):
        yield high


def also_of_brokers(draft: Draft, name: str, value: object) -> Draft:
    """Return a change with that of a setting of the brokers."""
    return Draft(
        draft.why,
        (*draft.settings, f"{name}={value}"),
        (*draft.overrides, f"cluster.settings[{name}]={value}"),
    )


def of_group(group: Group, name: str, value: object) -> tuple[str, ...]:
    """Return the overrides that set a consumer setting for a group and for members with their own."""
    members = [
        f"group[{group.id}].member[{member.name}].settings[{name}]={value}"
        for member in group.members
        if name in member.settings
    ]
    return (f"group[{group.id}].settings[{name}]={value}", *members)


def of_deploys(situation: Situation, name: str, value: object, why: str) -> Draft:
    """Return the change of a consumer setting in the rolling restarts of the group that set it."""
    acts = [act.id for act in situation.restarts if name in (act.settings or {})]
    overrides = tuple(f"act[{act}].settings[{name}]={value}" for act in acts)
    return Draft(why, (f"{name}={value} in {', '.join(acts)}",), overrides)


def _deployed(situation: Situation, name: str) -> bool:
    return any(
        name in (act.settings or {}) or name in act.unset for act in deploys_of(situation.scenario)
    )


def broker(situation: Situation, name: str, value: Any, why: str) -> Draft | None:
    """Return the change of one setting of the brokers; None if it has this value."""
    if situation.brokers[name] == value:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Draft(why, (f"{name}={text}",), (f"cluster.settings[{name}]={text}",))


def commit(situation: Situation, key: str, value: str, how: str, why: str) -> Draft:
    """Return the change of a key of the commit policy, or of all of it (an empty key).

    *how*: the change of the application, in words.
    """
    path = f".{key}" if key else ""
    paths = [f"group[{situation.group.id}]"]
    paths += [
        f"group[{situation.group.id}].member[{member.name}]"
        for member in situation.group.members
        if member.commit is not None
    ]
    return Draft(why, (how,), tuple(f"{each}.commit{path}={value}" for each in paths))


def capital(sentence: str) -> str:
    """Return a sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]


def sufficient_grace_s(stopping_s: float) -> float:
    """Return a grace period in which a process ends its batch and closes its consumer, with a margin."""
    return stopping_s * MARGIN + CLOSING_S
