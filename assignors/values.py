"""Declare classes of values.

A run declares about three hundred of them when it starts. ``dataclasses.dataclass`` compiles up to
six methods for each class; here a class compiles its constructor only, and that with its first
value, which takes a sixth of the time.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(kind: type[T] | None = None, /, **options: bool) -> Any:
        """Return *kind* as a dataclass, as ``dataclasses.dataclass`` does with the same options.

        The result differs only in how a class with slots is made.
        """
        if kind is None:
            return lambda kind: dataclass(kind, **options)
        if not _is_simple(kind, options):
            return dataclasses.dataclass(kind, **options)
        return _declared(kind, **options)


__all__ = ["attributes", "dataclass"]

_OPTIONS = {"frozen", "slots", "kw_only", "eq", "repr"}
_OWN_METHODS = {"__delattr__", "__getstate__", "__init__", "__setattr__", "__setstate__"}


def attributes(names: list[str]) -> Any:
    """Return a function that returns these attributes of a value as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _is_simple(kind: type, options: Mapping[str, bool]) -> bool:
    """Return whether *kind* is a class with slots, without a base, and all fields are arguments."""
    if not options.keys() <= _OPTIONS or not options.get("slots"):
        return False
    if kind.__bases__ not in {(object,), (Generic,)} or _OWN_METHODS & kind.__dict__.keys():
        return False
    if any("InitVar" in str(each) for each in inspect.get_annotations(kind).values()):
        return False
    return all(each.init for each in vars(kind).values() if isinstance(each, dataclasses.Field))


def _declared(
    kind: type,
    *,
    slots: bool,
    frozen: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 -- the name of the option
) -> type:
    kind.__doc__ = kind.__doc__ or kind.__name__
    own = set(kind.__dict__)
    make = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
    made: Any = make(kind)
    made.__dataclass_params__.frozen = frozen
    fields = dataclasses.fields(made)
    made.__init__ = _first_constructor(made, fields, frozen=frozen)
    if repr and "__repr__" not in own:
        made.__repr__ = _repr
    if eq:
        _set_comparison(made, fields, own, frozen=frozen)
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
        made.__getstate__, made.__setstate__ = _state, _set_state
    return made  # type: ignore[no-any-return]


def _first_constructor(
    kind: Any, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool
) -> Any:
    """Return a constructor that replaces itself at the first value: many classes have none."""

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807
        kind.__init__ = _constructor(kind, fields, frozen=frozen)
        kind.__init__(self, *given, **named)

    return __init__ if fields else _constructor(kind, fields, frozen=frozen)


def _constructor(kind: Any, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool) -> Any:
    """Return the method that takes each field as an argument and sets it."""
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    positional: list[str] = []
    keyword: list[str] = []
    lines: list[str] = []
    for each in fields:
        name = each.name
        if frozen:
            names[f"set_{name}"] = getattr(kind, name).__set__
        argument, value = _argument(each, names)
        lines.append(f"    set_{name}(self, {value})" if frozen else f"    self.{name} = {value}")
        (keyword if each.kw_only is True else positional).append(argument)
    if hasattr(kind, "__post_init__"):
        lines.append("    self.__post_init__()")
    signature = ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])
    exec("\n".join([f"def __init__({signature}):", *(lines or ["    pass"])]), names)  # noqa: S102  the names of fields
    names["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    return names["__init__"]


def _argument(each: dataclasses.Field[Any], names: dict[str, Any]) -> tuple[str, str]:
    """Return the constructor's argument for a field and the value it sets, as code.

    Adds the objects that the code refers to, to *names*.
    """
    name = each.name
    if each.default is not dataclasses.MISSING:
        names[f"default_{name}"] = each.default
        return f"{name}=default_{name}", name
    if each.default_factory is not dataclasses.MISSING:
        names[f"make_{name}"] = each.default_factory
        return f"{name}=MISSING", f"make_{name}() if {name} is MISSING else {name}"
    return name, name


def _set_comparison(
    made: Any, fields: Iterable[dataclasses.Field[Any]], own: set[str], *, frozen: bool
) -> None:
    compared = attributes([each.name for each in fields if each.compare])

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        equal: bool = compared(self) == compared(other)
        return equal

    if "__eq__" not in own:
        made.__eq__ = __eq__
    if made.__dict__.get("__hash__") is not None:
        return
    made.__hash__ = (lambda self: hash(compared(self))) if frozen else None


def _repr(self: Any) -> str:
    shown = [each.name for each in dataclasses.fields(self) if each.repr]
    fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
    return f"{self.__class__.__qualname__}({fields})"


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> tuple[object, ...]:
    return tuple([getattr(self, each.name) for each in dataclasses.fields(self)])


def _set_state(self: Any, state: tuple[object, ...]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
