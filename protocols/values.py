"""Copy frozen values with some fields changed, and state facts as the events of a run.

Every step of a machine copies its state, which has up to thirty fields.
``dataclasses.replace`` calls the constructor, which sets each field by name; this takes a third of
its time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: T, /, **changes: Any) -> T:
        """Return a copy of a frozen dataclass with slots; *changes* are its new field values.

        The copy is made without the constructor, unless the class has a ``__post_init__``.
        """
        copier = _COPIERS.get(type(value))
        if copier is None:
            copier = _COPIERS[type(value)] = _copier(type(value))
        copied: T = copier(value, changes)
        return copied


__all__ = [
    "NOT_REPLACED",
    "needed_fields",
    "optional_fields",
    "recorded",
    "recorded_fields",
    "recorded_if_set",
    "replace",
    "set_values",
    "unrecorded",
]


# -- copying -------------------------------------------------------------------------------------

_COPIERS: dict[type, Any] = {}


def _copier(kind: type[T]) -> Any:
    """Return the function that copies values of one class."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    if not hasattr(kind, "__slots__") and not hasattr(kind, "__post_init__"):
        return partial(_copy_whole, kind, frozenset(field.name for field in fields))
    if hasattr(kind, "__post_init__"):
        return lambda value, changes: dataclasses.replace(value, **changes)
    return _slot_copier(kind, [field.name for field in fields])


def _slot_copier(kind: type[T], names: list[str]) -> Any:
    """Return a copier that sets each slot in a line of its own: a loop takes twice the time."""
    writers = {name: getattr(kind, name).__set__ for name in names}
    scope: dict[str, Any] = {"new": object.__new__, "kind": kind, "writers": writers}
    scope |= {f"write_{name}": write for name, write in writers.items()}
    lines = [f"    write_{name}(made, value.{name})" for name in names]
    exec("\n".join([_COPY_BEGIN, *lines, _COPY_END]), scope)  # noqa: S102  the names of fields
    return scope["copy"]


_COPY_BEGIN = """
def copy(value, changes):
    made = new(kind)"""
_COPY_END = """
    try:
        for name, changed in changes.items():
            writers[name](made, changed)
    except KeyError as error:
        raise TypeError(f"{kind.__name__} has no field {error}") from None
    return made"""


def _copy_whole(kind: type[T], names: frozenset[str], value: T, changes: dict[str, Any]) -> T:
    """Copy a value without slots: its fields at once."""
    if not names.issuperset(changes):
        raise TypeError(f"{kind.__name__} has no field {sorted(changes.keys() - names)}")
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", value.__dict__ | changes)
    return made


# -- facts as events ---------------------------------------------------------------------------


NOT_REPLACED = -1
"""The ``replaced_broker`` of what the group's own coordinator reports.

Otherwise it is the broker of a coordinator in whose place the controller has elected another one,
and which has not learned that yet: its members and generations are not those of the group.
"""

_RECORDED = "recorded"
_IF_SET = "if set"


def unrecorded(default: Any) -> Any:
    """Return a field that events leave out."""
    return dataclasses.field(default=default, metadata={_RECORDED: False})


def recorded_if_set(default: Any) -> Any:
    """Return a field that digests cover only where it differs from its default."""
    return dataclasses.field(default=default, metadata={_RECORDED: _IF_SET})


@cache
def optional_fields(kind: Any) -> Mapping[str, Any]:
    """Return the fields that digests cover only where they are set, by name, with their defaults."""
    fields = dataclasses.fields(kind)
    return {each.name: each.default for each in fields if each.metadata.get(_RECORDED) == _IF_SET}


def needed_fields(kind: Any) -> tuple[str, ...]:
    """Return the names of the recorded fields that have a value in every record, in their order."""
    return tuple(name for name in recorded_fields(kind) if name not in optional_fields(kind))


def set_values(fact: Any) -> dict[str, Any]:
    """Return the :func:`optional_fields` of a fact or event that are set, with their values."""
    kind: Any = type(fact)
    optional = optional_fields(kind).items()
    return {name: value for name, unset in optional if (value := getattr(fact, name)) != unset}


def recorded_fields(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a fact or event that are recorded, in their order."""
    return tuple(each.name for each in dataclasses.fields(kind) if _is_recorded(each))


def recorded(fact: T, **named: Any) -> T:
    """Return a fact as an event.

    *named*: the fields that the host fills in. Fields that are not recorded get their defaults.
    """
    kind: Any = type(fact)
    return replace(fact, **_left_out(kind), **named)  # type: ignore[type-var]


@cache
def _left_out(kind: Any) -> Mapping[str, Any]:
    return {each.name: each.default for each in dataclasses.fields(kind) if not _is_recorded(each)}


def _is_recorded(each: dataclasses.Field[Any]) -> bool:
    return bool(each.metadata.get(_RECORDED, True))
