"""Declare frozen values, copy them with some fields changed, and facts as the events of a run.

A run declares some hundred classes of values when it starts. ``dataclasses.dataclass`` compiles six
methods for each of them; here a class compiles its constructor only, which takes a quarter of the
time.

Every step of a machine copies its state, which has up to thirty fields.
``dataclasses.replace`` calls the constructor, which sets each field by name; this takes a third of
its time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(kind: type[T] | None = None, /, **options: bool) -> Any:
        """Return *kind* as a dataclass, as ``dataclasses.dataclass`` does with the same options.

        The result differs only in how a frozen class with slots is made.
        """
        if kind is None:
            return lambda kind: dataclass(kind, **options)
        if not _is_simple(kind, options):
            return dataclasses.dataclass(kind, **options)
        return _frozen(kind, kw_only=options.get("kw_only", False))

    def replace(value: T, /, **changes: Any) -> T:
        """Return a copy of a frozen dataclass with slots; *changes* are its new field values.

        The copy is made without the constructor, unless the class has a ``__post_init__``.
        """
        copier = _COPIERS.get(type(value))
        if copier is None:
            copier = _COPIERS[type(value)] = _copier(type(value))
        copied: T = copier(value, changes)
        return copied


__all__ = ["dataclass", "recorded", "recorded_fields", "replace", "unrecorded"]


# -- declaring -----------------------------------------------------------------------------------

_OWN_METHODS = {"__eq__", "__getstate__", "__hash__", "__post_init__", "__repr__", "__setattr__"}


def _is_simple(kind: type, options: Mapping[str, bool]) -> bool:
    """Return whether *kind* is a frozen class with slots, without a base and without factories."""
    if not {"frozen", "slots"} <= options.keys() <= {"frozen", "slots", "kw_only"}:
        return False
    if kind.__bases__ != (object,) or _OWN_METHODS & kind.__dict__.keys():
        return False
    declared = [each for each in vars(kind).values() if isinstance(each, dataclasses.Field)]
    return all(options[name] for name in ("frozen", "slots")) and all(
        each.init and each.repr and each.compare and each.default_factory is dataclasses.MISSING
        for each in declared
    )


def _frozen(kind: type, *, kw_only: bool) -> type:
    kind.__doc__ = kind.__doc__ or kind.__name__
    make = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    made: Any = make(kind)
    fields = dataclasses.fields(made)
    values = _reader([each.name for each in fields])

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        equal: bool = values(self) == values(other)
        return equal

    made.__init__ = _constructor(made, fields)
    made.__eq__ = __eq__
    made.__hash__ = lambda self: hash(values(self))
    made.__repr__ = _repr
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    made.__getstate__, made.__setstate__ = _state, _set_state
    return made  # type: ignore[no-any-return]


def _constructor(kind: Any, fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """Return the method that takes each field as an argument and sets it."""
    names: dict[str, Any] = {
        f"set_{each.name}": getattr(kind, each.name).__set__ for each in fields
    }
    positional: list[str] = []
    keyword: list[str] = []
    for each in fields:
        has_default = each.default is not dataclasses.MISSING
        names[f"default_{each.name}"] = each.default
        text = f"{each.name}=default_{each.name}" if has_default else each.name
        (keyword if each.kw_only is True else positional).append(text)
    signature = ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])
    lines = [f"    set_{each.name}(self, {each.name})" for each in fields] or ["    pass"]
    exec("\n".join([f"def __init__({signature}):", *lines]), names)  # noqa: S102  the names of fields
    return names["__init__"]


def _reader(names: list[str]) -> Any:
    """Return a function that returns these attributes of a value as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _repr(self: Any) -> str:
    fields = dataclasses.fields(self)
    shown = ", ".join([f"{each.name}={getattr(self, each.name)!r}" for each in fields])
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> tuple[object, ...]:
    return tuple([getattr(self, each.name) for each in dataclasses.fields(self)])


def _set_state(self: Any, state: tuple[object, ...]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


# -- copying -------------------------------------------------------------------------------------

_COPIERS: dict[type, Any] = {}


def _copier(kind: type[T]) -> Any:
    """Return the function that copies values of one class."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    if not hasattr(kind, "__slots__") and not hasattr(kind, "__post_init__"):
        return partial(_copy_whole, kind, frozenset(field.name for field in fields))
    if hasattr(kind, "__post_init__") or not hasattr(kind, "__slots__"):
        return lambda value, changes: dataclasses.replace(value, **changes)
    names = [field.name for field in fields]
    read = _reader(names)
    places = {name: place for place, name in enumerate(names)}
    writers = [getattr(kind, name).__set__ for name in names]
    new = object.__new__

    def copy(value: T, changes: dict[str, Any]) -> T:
        values = list(read(value))
        try:
            for name, changed in changes.items():
                values[places[name]] = changed
        except KeyError as error:
            raise TypeError(f"{kind.__name__} has no field {error}") from None
        made: T = new(kind)
        for write, given in zip(writers, values, strict=True):
            write(made, given)
        return made

    return copy


def _copy_whole(kind: type[T], names: frozenset[str], value: T, changes: dict[str, Any]) -> T:
    """Copy a value without slots: its fields at once."""
    if not names.issuperset(changes):
        raise TypeError(f"{kind.__name__} has no field {sorted(changes.keys() - names)}")
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", value.__dict__ | changes)
    return made


# -- facts as events ---------------------------------------------------------------------------


_RECORDED = "recorded"


def unrecorded(default: Any) -> Any:
    """Return a field that events leave out."""
    return dataclasses.field(default=default, metadata={_RECORDED: False})


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
