"""Packages whose modules are imported when somebody first asks for one (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType


def modules_of(package: str, names: Collection[str]) -> Callable[[str], ModuleType]:
    """Return the ``__getattr__`` of *package*, which imports the modules called *names*.

    An import makes the module an attribute of its package: each is found here once.
    """

    def module(name: str) -> ModuleType:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
