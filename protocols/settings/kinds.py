"""What one of Kafka's settings is, and how a dataclass of settings is read."""

from __future__ import annotations

import enum
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Kind(enum.Enum):
    """What a setting's value is; decides which spellings a scenario may use."""

    TIME_MS = "a time (Kafka's milliseconds, or text with a unit)"
    MINUTES = "a time (Kafka's minutes, or text with a unit)"
    BYTES = "a size (Kafka's bytes, or text with a unit)"
    COUNT = "a whole number"
    RATIO = "a number from 0 to 1"
    SWITCH = "true or false"
    CHOICE = "one of a few words"
    NAMES = "a list of names"
    TEXT = "a text"


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Kafka's settings: its name, what it holds, and what is allowed."""

    name: str
    kind: Kind
    meaning: str
    minimum: int = 0
    maximum: int = INT_MAX
    choices: tuple[str, ...] = ()


def declared(default: Any, setting: Setting) -> Any:
    """Declare a dataclass field that holds one of Kafka's settings."""
    return field(default=default, metadata={"setting": setting})


@cache
def settings_of(kind: Any) -> dict[str, Setting]:
    """Return field name to :class:`Setting` of a settings dataclass."""
    return {f.name: f.metadata["setting"] for f in fields(kind) if "setting" in f.metadata}


@cache
def fields_by_name(kind: Any) -> dict[str, str]:
    """Return Kafka's name to field name of a settings dataclass."""
    return {setting.name: name for name, setting in settings_of(kind).items()}


def defaults_of(kind: Any) -> dict[str, Any]:
    """Return Kafka's name to default of a settings dataclass."""
    return {
        f.metadata["setting"].name: f.default
        for f in fields(kind)
        if "setting" in f.metadata and f.default is not MISSING
    }
