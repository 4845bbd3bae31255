"""Imports that are delayed until a name is first used, for a fast start-up.

A place has the form ``"package.module"`` or ``"package.module:name"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def lazy_names(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for *package* that imports *places* on first use (PEP 562).

    It raises AttributeError for a name that is not in *places*.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 -- it is the package's
        if name in places:
            return _imported(places[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__


def lazy_modules(package: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for *package* that imports its modules *names* on first use."""
    return lazy_names(package, {name: f"{package}.{name}" for name in names})


class LazyMapping(Mapping[K, V]):
    """A read-only mapping whose values are imported when they are first looked up."""

    def __init__(self, places: Mapping[K, str]) -> None:
        self._places = places

    def __getitem__(self, key: K) -> V:
        value: V = _imported(self._places[key])
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
