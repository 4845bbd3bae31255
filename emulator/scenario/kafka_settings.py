"""Kafka's settings as a scenario writes them: checked, and in Kafka's own units.

A table may be nested (``session.timeout.ms = 6000``) or quoted (``"session.timeout.ms" = "6s"``);
here it becomes one table with full names. Problems are reported for each setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from emulator.scenario.part import NotEmpty, word_or_other
from emulator.scenario.problems import hint, listed, refuse
from emulator.scenario.short_forms import LEGAL_NAME
from emulator.scenario.units import kafka_units
from protocols.settings import (
    BY_DURATION,
    LEFT_OUT,
    LEFT_OUT_FAMILIES,
    SET_INSTEAD,
    BrokerSettings,
    ClientSettings,
    ConsumerSettings,
    Kind,
    OldConsumerSettings,
    Setting,
    TopicSettings,
    by_duration_ms,
    settings_of,
)

CONSUMER = {setting.name: setting for setting in settings_of(ConsumerSettings).values()}
OTHER_CLIENTS = {setting.name: setting for setting in settings_of(ClientSettings).values()}
"""Settings of consumers other than Java's."""

OLD_CONSUMER = {setting.name: setting for setting in settings_of(OldConsumerSettings).values()}
"""Settings of the consumer of Kafka 0.8, which keeps its offsets in ZooKeeper."""

CONSUMERS = CONSUMER | OTHER_CLIENTS | OLD_CONSUMER
"""Settings of consumers of any kind."""

BROKER = {setting.name: setting for setting in settings_of(BrokerSettings).values()}
TOPIC = {setting.name: setting for setting in settings_of(TopicSettings).values()}

JAVA_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
ASSIGNORS = tuple(JAVA_ASSIGNORS.values())
RESET = "auto.offset.reset"
RESET_POLICIES = ("earliest", "latest", "none")
SERVER_ASSIGNORS = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
STRATEGY = "partition.assignment.strategy"
PROTOCOL, REMOTE_ASSIGNOR = "group.protocol", "group.remote.assignor"
ONLY_CLASSIC = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Settings that Kafka refuses with the consumer protocol."""

ONLY_CONSUMER = (REMOTE_ASSIGNOR,)
"""Settings that Kafka refuses with the classic protocol."""

REFUSED_WITH = {"consumer": ONLY_CLASSIC, "classic": ONLY_CONSUMER}
"""The settings that Kafka refuses with a protocol."""


Assigned = Annotated[
    Annotated[Literal["all"], Tag("=word")]
    | Annotated[NotEmpty[Annotated[int, Field(ge=0)]], Tag("=other")],
    Discriminator(word_or_other),
]
"""Partitions of one topic that a member assigns to itself."""


def flattened(table: Any, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the full name and value of every setting of a table, nested or not."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            yield from flattened(value, f"{name}.")
        else:
            yield name, value


def setting_value(setting: Setting, value: object) -> object:
    """Return the value of a setting in Kafka's unit; raise ValueError if it is invalid."""
    return _SPECIAL.get(setting.name, _BY_KIND[setting.kind])(setting, value)


# -- one function per kind -------------------------------------------------------------------


def _quantity(setting: Setting, value: object) -> int:
    return _bounded(setting, kafka_units(setting.kind, value))


def _count(setting: Setting, value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value):
        value = int(value)
    match value:
        case bool():
            pass
        case int():
            return _bounded(setting, value)
    raise ValueError(f"wrong type; allowed is {allowed_range(setting)}")


def _bounded(setting: Setting, value: int) -> int:
    if setting.minimum <= value <= setting.maximum:
        return value
    raise ValueError(f"out of range; allowed is {allowed_range(setting)}")


def allowed_range(setting: Setting) -> str:
    """Return the words for the range of a number, with its unit."""
    unit = {Kind.TIME_MS: " (milliseconds)", Kind.MINUTES: " (minutes)", Kind.BYTES: " (bytes)"}
    return f"a whole number from {setting.minimum} to {setting.maximum}{unit.get(setting.kind, '')}"


def _ratio(_: Setting, value: object) -> float:
    if isinstance(value, str) and re.fullmatch(r"\d(\.\d{1,20})?", value):
        value = float(value)
    match value:
        case bool():
            pass
        case int() | float() if 0 <= value <= 1:
            return float(value)
    raise ValueError("wrong type or out of range; allowed is a number from 0 to 1")


def _switch(_: Setting, value: object) -> bool:
    if value in ("true", "false"):
        return value == "true"
    match value:
        case bool():
            return value
    from emulator.scenario.meant_words import meant_switch  # noqa: PLC0415  only for errors

    raise ValueError(f"wrong type; allowed is true or false{meant_switch(value)}")


def _choice(setting: Setting, value: object) -> str:
    match value:
        case str() if value in setting.choices:
            return value
    allowed = f"allowed is one of {listed(setting.choices)}"
    raise ValueError(f"unknown value; {allowed}{hint(value, setting.choices)}")


def _text(_: Setting, value: object) -> str:
    match value:
        case str() if len(value) <= 1_000:
            return value
    raise ValueError("wrong type; allowed is a text")


# -- settings with special rules -------------------------------------------------------------


def _group_protocol(setting: Setting, value: object) -> str:
    return _choice(setting, value.lower() if isinstance(value, str) else value)


def _reset_policy(_: Setting, value: object) -> str:
    match value:
        case str() if value in RESET_POLICIES:
            return value
        case str() if value.startswith(BY_DURATION):
            return f"{BY_DURATION}PT{_seconds(by_duration_ms(value) or 0)}S"
    allowed = f'{listed(RESET_POLICIES)}, or "by_duration:" and an ISO-8601 duration like "PT1H"'
    near = hint(value, (*RESET_POLICIES, BY_DURATION))
    raise ValueError(f"unknown policy; allowed are {allowed}{near}")


def _seconds(ms: int) -> str:
    return f"{ms // 1_000}.{ms % 1_000:03d}" if ms % 1_000 else f"{ms // 1_000}"


def _instance_id(_: Setting, value: object) -> str:
    match value:
        case str() if re.fullmatch(LEGAL_NAME, value) and value not in (".", ".."):
            return value
    raise ValueError("allowed are 1 to 249 letters, digits, dots, underscores and hyphens")


def _assignors(_: Setting, value: object) -> tuple[str, ...]:
    """Return names of assignors, from names, Java classes, a list, or a text with commas."""
    names = tuple(_assignor(name) for name in _as_list(value))
    if not names:
        raise ValueError("empty; a consumer without an assignor cannot subscribe")
    return _each_once(names)


def _server_assignors(_: Setting, value: object) -> tuple[str, ...]:
    """Return names of the coordinator's own assignors, from any of the same forms."""
    names = tuple(_server_assignor(name) for name in _as_list(value))
    if not names:
        raise ValueError("empty; a coordinator needs one assignor at least")
    return _each_once(names)


def _server_assignor(name: object) -> str:
    match name:
        case str() if name in SERVER_ASSIGNORS.values():
            return name
        case str() if name in SERVER_ASSIGNORS:
            return SERVER_ASSIGNORS[name]
    known = tuple(SERVER_ASSIGNORS.values())
    raise ValueError(f"unknown assignor; allowed are {listed(known)}{hint(name, known)}")


def _as_list(value: object) -> list[object]:
    match value:
        case str():
            return [word.strip() for word in value.split(",") if word.strip()]
        case list() | tuple():
            return list(value)
    raise ValueError("wrong type; allowed is a name or a list of names")


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f'"{twice}" is named twice')
    return names


def _assignor(name: object) -> str:
    match name:
        case str() if name in ASSIGNORS:
            return name
        case str() if name in JAVA_ASSIGNORS:
            return JAVA_ASSIGNORS[name]
        case str() if re.fullmatch(r"[\w.]+:\w+", name):
            return name
    known = (*ASSIGNORS, *JAVA_ASSIGNORS)
    raise ValueError(
        f"unknown assignor; allowed are {listed(ASSIGNORS)}, their Java class names, or one of "
        f'your own as "module:function"{hint(name, known)}'
    )


_Reader = Callable[[Setting, object], object]

_BY_KIND: dict[Kind, _Reader] = {
    Kind.TIME_MS: _quantity,
    Kind.MINUTES: _quantity,
    Kind.BYTES: _quantity,
    Kind.COUNT: _count,
    Kind.RATIO: _ratio,
    Kind.SWITCH: _switch,
    Kind.CHOICE: _choice,
    Kind.NAMES: _assignors,
    Kind.TEXT: _text,
}
_SPECIAL: dict[str, _Reader] = {
    PROTOCOL: _group_protocol,
    "group.consumer.assignors": _server_assignors,
    RESET: _reset_policy,
    "group.instance.id": _instance_id,
}


# -- a table of settings ---------------------------------------------------------------------


def _read(known: dict[str, Setting], elsewhere: str, table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    settings: dict[str, object] = {}
    wrong: list[tuple[tuple[str | int, ...], object, str]] = []
    for name, value in flattened(table):
        try:
            _read_setting(settings, known, elsewhere, (name, value))
        except ValueError as error:
            wrong.append(((name,), value, str(error)))
    if wrong:
        raise refuse("settings", wrong)
    return settings


def _read_setting(
    settings: dict[str, object],
    known: dict[str, Setting],
    elsewhere: str,
    item: tuple[str, object],
) -> None:
    name, value = item
    if name in settings:
        raise ValueError("given twice")
    if name not in known:
        raise ValueError(_unknown(name, known, elsewhere))
    settings[name] = setting_value(known[name], value)


def _unknown(name: str, known: dict[str, Setting], elsewhere: str) -> str:
    if name == "group.id":
        return "set by the id of the group; leave it out"
    if name in CONSUMER or name in BROKER or name in TOPIC:
        return (
            elsewhere
            if name not in TOPIC
            else "a setting of topics; it belongs to a topic's settings"
        )
    if name in LEFT_OUT or name.startswith(LEFT_OUT_FAMILIES):
        said = "a Kafka setting that the emulator does not model; leave it out"
        instead = SET_INSTEAD.get(name)
        return f"{said}, or set {instead} for __consumer_offsets" if instead else said
    return f"unknown setting{hint(name, known)}"


ConsumerTable = Annotated[
    dict[str, object],
    BeforeValidator(
        partial(
            _read,
            CONSUMERS,
            "a setting of brokers; it belongs to [cluster] settings",
        )
    ),
]
"""Kafka's consumer settings by name."""

BrokerTable = Annotated[
    dict[str, object],
    BeforeValidator(
        partial(_read, BROKER, "a setting of consumers; it belongs to a group's settings")
    ),
]
"""Kafka's broker settings by name."""

TopicTable = Annotated[
    dict[str, object],
    BeforeValidator(
        partial(_read, TOPIC, "no setting of topics; it belongs to a group's or [cluster] settings")
    ),
]
"""Kafka's topic settings by name."""

INSTEAD = {
    "session.timeout.ms": "group.consumer.session.timeout.ms in [cluster] settings",
    "heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms in [cluster] settings",
    "partition.assignment.strategy": f'"{REMOTE_ASSIGNOR}" here',
}
"""Replacements, with the consumer protocol, for settings that Kafka rejects there."""


def why_refused(name: str, protocol: str, said: str = "") -> str:
    """Return why Kafka rejects a setting with a protocol; *said*: by another client than Java's."""
    if protocol == "classic":
        return f"Kafka refuses it with {PROTOCOL}=classic, where members run the assignor"
    if said:
        return f"{said}; leave it out, and set {INSTEAD[name]}"
    return (
        f"Kafka refuses it with {PROTOCOL}=consumer, where the coordinator decides; leave it out, "
        f"and set {INSTEAD[name]}"
    )
