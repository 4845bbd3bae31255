"""Expand the short forms of scenario files into full tables.

Each function takes a value of a file (or a caller) and returns its full form. Unknown values are
returned unchanged; the model then rejects them. The functions are before-validators of the model.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Literal, get_args

from pydantic import ValidationInfo

from emulator.input_files import file_in, read_bytes, utf8_text
from emulator.scenario.part import Part, ScenarioSource
from emulator.scenario.problems import hint, listed, refuse
from emulator.scenario.units import MEANT_UNITS, TIME_UNITS, US_PER_S, parse_duration

OR_NONE = "none or "
"""The beginning of a bound that a metric without a value meets."""

FAULT_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*(fault|act)[ \t]*\]\]", re.MULTILINE)
"""The beginning of a fault or act in a text: either word may be used, and a scenario has one list."""

DISTRIBUTIONS = ("constant", "uniform", "exponential", "lognormal", "pareto", "trace")
MAX_MEMBERS = 100_000

LEGAL_NAME = r"^[A-Za-z0-9._-]{1,249}$"
"""Kafka's alphabet for topics and instance ids."""

HIDDEN = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Control characters, and marks that change the direction of text, in a character class."""

PARTY_NAME = rf"^[^\s\[\]{HIDDEN}]([^\[\]{HIDDEN}]{{0,247}}[^\s\[\]{HIDDEN}])?$"
"""Names of members and faults: any text that can be in the brackets of a path."""

GROUP_ID = PARTY_NAME

COMMITS: dict[str, dict[str, str]] = {
    "auto": {"call": "auto"},
    "none": {"call": "none"},
    "sync": {"call": "sync"},
    "async": {"call": "async"},
    "sync per record": {"call": "sync", "when": "record"},
    "async per record": {"call": "async", "when": "record"},
    "sync before": {"call": "sync", "when": "before"},
    "async before": {"call": "async", "when": "before"},
    "store": {"call": "store"},
    "store per record": {"call": "store", "when": "record"},
}
"""Short forms of commit policies; all others need a table."""

TARGETS = {
    "crash": "member",
    "close": "member",
    "start": "member",
    "pause": "member",
    "hang": "member",
    "fail_listener": "member",
    "cut": "parties",
    "crash_broker": "broker",
    "pause_broker": "broker",
    "stop_broker": "broker",
    "rolling_broker_restart": "brokers",
    "slow_disk": "broker",
    "fill_disk": "broker",
    "slow_store": "store",
    "stop_store": "store",
    "restore_store": "store",
    "move_coordinator": "group",
    "add_partitions": "topic",
    "create_topic": "topic",
    "delete_topic": "topic",
    "delete_offsets": "group",
    "reset_offsets": "group",
    "delete_group": "group",
    "rolling_restart": "group",
    "drain_node": "members",
    "zone_outage": "rack",
    "subscribe": "group",
    "seek": "member",
    "pause_partitions": "member",
    "lose_message": "message",
    "delay_message": "message",
}
"""The verbs of faults and acts: a file's key, and the field that gets its value."""

StepName = Literal[
    "polled",
    "batch done",
    "record done",
    "commit sent",
    "commit appended",
    "commit answered",
    "revoking",
    "revoked",
    "assigned",
    "sent JoinGroup",
    "JoinGroup parked",
    "join phase ended",
    "received JoinGroup",
    "sent SyncGroup",
    "SyncGroup parked",
    "group stable",
    "received SyncGroup",
    "sent Heartbeat",
    "sent LeaveGroup",
    "sent ConsumerGroupHeartbeat",
    "received ConsumerGroupHeartbeat",
    "target computed",
    "asked to revoke",
    "closing",
]
STEPS: tuple[StepName, ...] = get_args(StepName)
"""Steps of a member, or of the coordinator for it, at which a fault can begin.

Steps of the coordinator: it holds a ``JoinGroup`` or ``SyncGroup`` in purgatory (``parked``), the
join phase ended with the member in it, it received the assignment (``group stable``), it appended a
commit to its own log (``commit appended``). Its responses have been sent by then.

Steps of the consumer protocol: the coordinator computed a target assignment that changes the
member's partitions (``target computed``); its response asks the member to revoke partitions
(``asked to revoke``).
"""


def keys(value: object) -> Collection[str]:
    """Return the keys of a table; none for anything else."""
    return value.keys() if isinstance(value, dict) else ()


# -- times and commits -----------------------------------------------------------------------


def distribution(value: object) -> object:
    """Read a plain time as a constant; reject a table that names no distribution.

    >>> distribution("10ms")
    {'constant': '10ms'}
    """
    match value:
        case str() | int() | float():
            return {"constant": value}
        case dict() if not any(key in value for key in DISTRIBUTIONS):
            found = next(iter(value), "")
            near = hint(found, DISTRIBUTIONS)
            raise ValueError(f"no distribution{near or f'; allowed are {listed(DISTRIBUTIONS)}'}")
    return value


def work(value: object) -> object:
    """Refuse a table of times by topic, which belongs in another key; return anything else."""
    if isinstance(value, dict) and not any(key in value for key in DISTRIBUTIONS):
        found = next(iter(value), "")
        if found and not hint(found, DISTRIBUTIONS):
            raise ValueError(
                f"no distribution; allowed are {listed(DISTRIBUTIONS)}. Times that depend on the topic "
                f"are written work_by = {{ topic = {{ {found} = … }} }}, in the group"
            )
    return value


def title(text: str) -> str:
    """Return a title; refuse one that would not be shown as it is written."""
    found = re.search(f"[{HIDDEN}]", text)
    if found is not None:
        raise ValueError(
            f"has the character U+{ord(found[0]):04X}; control characters and marks that change "
            "the direction of text are not allowed here"
        )
    return text


def trace(value: object, info: ValidationInfo) -> object:
    """Read a path as the lines of that file, one time each; ``#`` begins a comment."""
    if not isinstance(value, str):
        return value
    source = info.context
    if not isinstance(source, ScenarioSource) or source.folder is None:
        raise ValueError("a path needs a scenario file to be relative to; give a list of times")
    try:
        text = utf8_text(read_bytes(file_in(source.folder, value)))
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot be read: {error}") from None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def acks(value: object) -> object:
    """Read a producer's ``acks``, whose value 1 may be a text or a number."""
    return "1" if type(value) is int and value == 1 else value


def commit(value: object) -> object:
    """Read a short form as its commit policy.

    >>> commit("sync per record")
    {'call': 'sync', 'when': 'record'}
    """
    if not isinstance(value, str):
        return value
    if value not in COMMITS:
        from emulator.scenario.meant_words import unknown_policy  # noqa: PLC0415  only for errors

        raise ValueError(unknown_policy(value, COMMITS))
    return dict(COMMITS[value])


def assignor_time(value: Any) -> Any:
    """Expand a plain time: the time of each assignment."""
    return {"base": value} if isinstance(value, str) else value


def handler(value: object) -> object:
    """Read the short forms of a handler: ``serial``, ``batch``, and the user's ``module:Class``.

    >>> handler("serial"), handler("own:Billing")
    (None, {'code': 'own:Billing'})
    """
    if isinstance(value, str) and ":" in value:
        return {"code": value}
    if value == "batch":
        return {"listener": "batch"}
    if isinstance(value, str) and value != "serial":
        near = hint(value, ("serial", "batch"))
        example = 'allowed are "serial", "batch", "module:Class" and a table like { workers = 8 }'
        raise ValueError(f"unknown handler{near or f'; {example}'}")
    return None if value == "serial" else value


# -- members ---------------------------------------------------------------------------------


def group(value: Any) -> Any:
    """Return the members of a group: from a number, a list of names, ``[[group.member]]`` tables.

    A table with the name of a member from the number or the list adds settings to it; one
    with a new name adds a member.

    >>> group({"id": "g", "members": 2, "member": [{"name": "g-1", "start": "5s"}]})["members"]
    ({'name': 'g-0'}, {'name': 'g-1', 'start': '5s'})
    """
    if not isinstance(value, dict) or not ("members" in value or "member" in value):
        return value
    members, tables = value.get("members", ()), value.get("member", ())
    if not isinstance(tables, tuple | list):
        reason = f"allowed are [[group.member]] tables{f', or members = {tables}' * isinstance(tables, int)}"
        raise refuse("Group", [(("member",), tables, reason)])
    expanded = _refined(_counted(members, value.get("id")), tables)
    return {key: val for key, val in value.items() if key != "member"} | {"members": expanded}


def _counted(members: object, group_id: object) -> list[Any]:
    match members:
        case bool():
            pass
        case int() if 1 <= members <= MAX_MEMBERS:
            return [{"name": f"{group_id}-{number}"} for number in range(members)]
        case tuple() | list():
            return [{"name": item} if isinstance(item, str) else item for item in members]
    reason = f"allowed are a number from 1 to {MAX_MEMBERS}, or a list of names"
    raise refuse("Group", [(("members",), members, reason)])


def _refined(members: list[Any], tables: Collection[Any]) -> tuple[Any, ...]:
    place = {
        member["name"]: index
        for index, member in enumerate(members)
        if keys(member) == {"name"} and isinstance(member["name"], str)
    }
    for table in tables:
        name = table.get("name") if isinstance(table, dict) else None
        index = place.pop(name, None) if isinstance(name, str) else None
        if index is None:
            members.append(table)
        else:
            members[index] = table
    return tuple(members)


# -- faults ----------------------------------------------------------------------------------


def verb_of(table: object) -> str:
    """Return the verb of a fault's table: the one key that names one; empty if there is none."""
    if isinstance(table, dict) and isinstance(table.get("verb"), str):
        return str(table["verb"])
    return next((verb for verb in TARGETS if verb in keys(table)), "")


def fault(value: Any) -> Any:
    """Read ``crash = "billing-1"`` as the verb ``crash`` with its target member.

    >>> fault({"crash": "billing-1", "at": "5min"})
    {'at': '5min', 'verb': 'crash', 'member': 'billing-1'}
    """
    if not isinstance(value, dict) or "verb" in value:
        return value
    verbs = [verb for verb in TARGETS if verb in value]
    if len(verbs) != 1:
        raise ValueError(_not_one_verb(value, verbs))
    verb = verbs[0]
    table = {key: val for key, val in value.items() if key != verb}
    return table | {"verb": verb, TARGETS[verb]: value[verb]}


def _not_one_verb(table: Collection[str], verbs: list[str]) -> str:
    if verbs:
        return f"two verbs, {listed(verbs[:2])}; allowed is one, in a table of its own"
    from emulator.scenario.meant_words import no_verb  # noqa: PLC0415  only for errors

    return no_verb(table, TARGETS)


def when(value: object) -> object:
    """Read the text of a moment: a member and its step, or a fault that begins or ends.

    >>> when("billing-1 sent SyncGroup")
    {'member': 'billing-1', 'step': 'sent SyncGroup'}
    >>> when("crash-1 ends")
    {'fault': 'crash-1', 'phase': 'ends'}
    """
    if not isinstance(value, str):
        return value
    for step in STEPS:
        if value.endswith(f" {step}"):
            return {"member": value.removesuffix(step).strip(), "step": step}
    for phase in ("begins", "ends"):
        if value.endswith(f" {phase}"):
            return {"fault": value.removesuffix(phase).strip(), "phase": phase}
    if value[:1].isdigit():
        raise ValueError(f'a time; write at = "{value}", or between = ["…", "…"]')
    last_words = " ".join(value.split()[-2:])
    raise ValueError(
        'not understood; allowed are a member and its step, such as "billing-1 sent SyncGroup", '
        'or a fault that begins or ends, such as "crash-1 ends"'
        + (hint(last_words, STEPS) or f"; the steps are {listed(STEPS)}")
    )


def from_the_start(value: Any) -> Any:
    """Set the start of a fault without a time to the beginning of the run."""
    if not isinstance(value, dict) or any(key in value for key in ("at", "between", "when")):
        return value
    return value | {"at": "0s"}


def number_faults(faults: Collection[tuple[str, str]]) -> list[str]:
    """Return the ids of faults, given (verb, id) of each: an empty id becomes verb and number.

    >>> number_faults([("crash", ""), ("cut", "ours"), ("crash", "")])
    ['crash-1', 'ours', 'crash-2']
    """
    seen: dict[str, int] = {}
    ids = []
    for verb, given in faults:
        seen[verb] = seen.get(verb, 0) + 1
        ids.append(given or f"{verb}-{seen[verb]}")
    return ids


# -- expectations ----------------------------------------------------------------------------

_BOUND = re.compile(r"\s*(<=|>=|==|<|>)?\s*(-?\d{1,15}(?:\.\d{1,15})?)\s*([a-z]*)\s*")


def bound(value: object) -> object:
    """Read ``0`` as "exactly" and ``"<= 200"`` as a relation; a time may have its unit.

    >>> bound("<= 200")
    {'relation': '<=', 'value': 200.0}
    >>> bound("< 1.5s")
    {'relation': '<', 'value': 1.5}
    >>> bound("none or <= 5s")
    {'relation': 'none or <=', 'value': 5.0}
    """
    match value:
        case bool():
            pass
        case int() | float():
            return {"relation": "==", "value": value}
        case str():
            return _bound(value)
        case dict() | Part():
            return value
    raise ValueError('wrong type; allowed is a number, or a text such as "<= 200"')


def _bound(text: str) -> dict[str, object]:
    optional = text.strip().startswith(OR_NONE)
    match = _BOUND.fullmatch(text.strip().removeprefix(OR_NONE) if optional else text)
    if match is None or (match[3] and match[3] not in (*TIME_UNITS, *MEANT_UNITS)):
        from emulator.scenario.meant_words import no_bound  # noqa: PLC0415  only for errors

        raise ValueError(no_bound(text))
    relation, number, unit = match.groups()
    value = parse_duration(number + unit) / US_PER_S if unit else float(number)
    prefix = OR_NONE if optional else ""
    return {"relation": prefix + (relation or "=="), "value": value}
