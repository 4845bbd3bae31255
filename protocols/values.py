"""Copy a frozen value with some fields changed.

Every step of a machine copies its state, which has up to thirty fields.
``dataclasses.replace`` calls the constructor, which sets each field by name; this takes a third of
its time.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
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


__all__ = ["replace"]

_COPIERS: dict[type, Any] = {}


def _copier(kind: type[T]) -> Any:
    """Return the function that copies values of one class."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    if hasattr(kind, "__post_init__") or not hasattr(kind, "__slots__") or len(fields) < 2:
        return lambda value, changes: dataclasses.replace(value, **changes)
    names = [field.name for field in fields]
    read = attrgetter(*names)
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
