"""Load code of the user, from the modules that the user has allowed and from no other.

Scenarios are passed on from one person to another, and ``"module:function"`` in one must not run
just any function that Python can import. A function may be named if its module

* is in the folder of the scenario file (a module that was loaded for one scenario may not be named
  by another one), or
* was allowed in this process with :func:`allow_plugins`: ``--plugin MODULE`` on the command line,
  ``rebalance_plugins`` in pytest's configuration.

Nothing in a scenario file allows a module. The function must be defined in that module, or in its
package, since modules also hold what they import.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from assignors.errors import AssignorNotFoundError, did_you_mean
from assignors.plugin import user_code
from assignors.values import dataclass


@dataclass(slots=True)
class _Allowed:
    """What the user has allowed in this process."""

    plugins: list[str] = field(default_factory=list)
    plugin_folders: list[Path] = field(default_factory=list)
    """Where plugins were found outside Python's path; searched for plugins alone."""

    folders: list[Path] = field(default_factory=list)
    """Of the scenarios that this worker process plays."""

    beside: dict[str, tuple[ModuleType, Path]] = field(default_factory=dict)
    """The modules that were loaded from folders of scenarios, by name, with their folders."""


_ALLOWED = _Allowed()


class Sought(NamedTuple):
    """What a scenario names in a module."""

    spec: str
    kind: str = "assignor"
    """What it is for: the subject of messages."""

    noun: str = "function"
    does: str = "returns an assignor"

    def __str__(self) -> str:
        """Return it as the subject of a message."""
        return f"The {self.kind} {self.spec!r}"


class Permissions(NamedTuple):
    """The modules whose functions may be named: plugins, and those in folders of scenarios."""

    plugins: tuple[str, ...]
    folders: tuple[str, ...]
    plugin_folders: tuple[str, ...] = ()


def allow_plugins(*modules: str) -> None:
    """Let scenarios of this process name functions of *modules* and of modules in them.

    Imports each: from the current folder if it is there, else from Python's path. Worker processes
    that this process starts allow the same. Call it only with modules that you trust, never with
    names that a scenario contains.

    Raises :class:`AssignorNotFoundError` if there is no such module, :class:`PluginError` if its
    code fails.
    """
    for name in modules:
        sought = Sought(name, "module")
        _refuse_bad_name(sought, name)
        _import_plugin(name, sought)
        if name not in _ALLOWED.plugins:
            _ALLOWED.plugins.append(name)


def allowed(folders: Iterable[str | Path] = ()) -> Permissions:
    """Return what this process allows, and modules in *folders*, for its worker processes."""
    used = [folder for _, folder in _ALLOWED.beside.values()]
    every = [str(Path(folder).resolve()) for folder in (*folders, *used)]
    of_plugins = tuple(str(folder) for folder in _ALLOWED.plugin_folders)
    return Permissions(tuple(_ALLOWED.plugins), tuple(dict.fromkeys(every)), of_plugins)


def allow(permissions: Permissions) -> None:
    """Allow in a worker process what its parent process allows; modules are imported when used."""
    _ALLOWED.plugins = list(permissions.plugins)
    _ALLOWED.folders = [Path(folder) for folder in permissions.folders]
    _ALLOWED.plugin_folders = [Path(folder) for folder in permissions.plugin_folders]


def find_function(
    spec: str | Sought, folders: Iterable[str | Path] | None
) -> Callable[..., object]:
    """Return the function or class that ``"module:name"`` names.

    *folders*: that of the scenario. None: the scenario has been loaded, so all modules that were
    loaded from folders of scenarios may be named. Raises :class:`AssignorNotFoundError` if the module is not
    allowed or does not define the function, :class:`PluginError` if the module's code fails.
    """
    sought = Sought(spec) if isinstance(spec, str) else spec
    name, _, function = sought.spec.partition(":")
    _refuse_bad_name(sought, name)
    if folders is None:
        module = _loaded(sought, name) or _module(sought, name, [])
    else:
        module = _module(sought, name, [Path(folder) for folder in folders])
    return _function_in(sought, module, function)


def _refuse_bad_name(sought: Sought, name: str) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise AssignorNotFoundError(
            f"{sought} cannot be imported: {name!r} is not a module name. "
            "Write it with dots, without slashes and without .py."
        )


def _module(sought: Sought, name: str, folders: list[Path]) -> ModuleType:
    """Import an allowed module."""
    top = name.partition(".")[0]
    for folder in (*folders, *_ALLOWED.folders):
        if (found := _found_in(folder, top)) is not None:
            return _import_beside(sought, name, found, folder)
    if any(name == plugin or name.startswith(f"{plugin}.") for plugin in _ALLOWED.plugins):
        return _import_plugin(name, sought)
    where = (
        f"there is no module {top!r} beside the scenario file ({folders[0].resolve()})"
        if folders
        else f"there is no module {top!r}: the scenario has no folder (in Python, pass folder=…)"
    )
    raise AssignorNotFoundError(
        f"{sought} is not loaded: {where}, and a scenario may not run code from elsewhere. If you trust {name!r}, allow it: "
        f'--plugin {name} on the command line, emulator.allow_plugins("{name}") in Python, or '
        "rebalance_plugins in the configuration of pytest."
    )


def _loaded(sought: Sought, name: str) -> ModuleType | None:
    """Return a module if its package was loaded from the folder of a scenario."""
    top = name.partition(".")[0]
    if top not in _ALLOWED.beside or sys.modules.get(top) is not _ALLOWED.beside[top][0]:
        return None
    with user_code(sought.spec, "be imported", sought.kind):
        return importlib.import_module(name)


def _found_in(folder: Path, top: str) -> importlib.machinery.ModuleSpec | None:
    """Return where a module or package is in a folder; None if it is not there."""
    importlib.invalidate_caches()
    return importlib.machinery.PathFinder.find_spec(top, [str(folder.resolve())])


def _import_plugin(name: str, sought: Sought) -> ModuleType:
    """Import a module that the user named; the current folder comes first, as in ``python -m``."""
    top = name.partition(".")[0]
    for folder in (Path(), *_ALLOWED.plugin_folders):
        if top not in sys.modules and (found := _found_in(folder, top)) is not None:
            _ALLOWED.plugin_folders.append(folder.resolve())
            return _import_from(sought, name, found, folder)
    with user_code(sought.spec, "be imported", sought.kind), _missing_modules(sought, Path()):
        return importlib.import_module(name)


def _import_beside(
    sought: Sought, name: str, found: importlib.machinery.ModuleSpec, folder: Path
) -> ModuleType:
    """Import a module from the folder of a scenario; its package may be named from then on."""
    module = _import_from(sought, name, found, folder)
    _ALLOWED.beside[found.name] = sys.modules[found.name], folder
    return module


def _import_from(
    sought: Sought, name: str, found: importlib.machinery.ModuleSpec, folder: Path
) -> ModuleType:
    """Import the module *name*, whose top-level module or package was *found* in a folder."""
    with (
        user_code(sought.spec, "be imported", sought.kind),
        _missing_modules(sought, folder),
        _searched_last(folder),
    ):
        if not _is_same(sought, found):
            _execute(found)
        return importlib.import_module(name)


def _is_same(sought: Sought, found: importlib.machinery.ModuleSpec) -> bool:
    """Return whether a module is loaded already.

    Raises :class:`AssignorNotFoundError` if another one has its name.
    """
    loaded = sys.modules.get(found.name)
    if loaded is None:
        return False
    if _place(loaded.__spec__) == _place(found):
        return True
    place = (_place(loaded.__spec__) or ["Python itself"])[0]
    raise AssignorNotFoundError(
        f"{sought} is not loaded: another module {found.name!r} is already in use "
        f"({place}). Give the one beside the scenario another name."
    )


def _place(spec: importlib.machinery.ModuleSpec | None) -> list[str]:
    if spec is None:
        return []
    return (
        [spec.origin]
        if spec.has_location and spec.origin
        else [*(spec.submodule_search_locations or ())]
    )


def _execute(found: importlib.machinery.ModuleSpec) -> None:
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    try:
        if found.loader is not None:
            found.loader.exec_module(module)
    except BaseException:
        del sys.modules[found.name]
        raise


@contextmanager
def _missing_modules(sought: Sought, folder: Path) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise AssignorNotFoundError(
            f"{sought} cannot be imported: there is no module {error.name!r}, "
            f"neither in {folder.resolve()} nor on Python's path. "
            "Check the spelling, or run from the folder it is in."
        ) from error


@contextmanager
def _searched_last(folder: Path) -> Iterator[None]:
    """Let a module import its neighbours; they cannot replace modules of Python."""
    before = list(sys.path)
    sys.path.append(str(folder.resolve()))
    try:
        yield
    finally:
        sys.path[:] = before


def _function_in(sought: Sought, module: ModuleType, name: str) -> Callable[..., object]:
    found: object = getattr(module, name, None)
    if not callable(found):
        functions = [
            one for one, value in vars(module).items() if callable(value) and one[0] != "_"
        ]
        what = "is no function" if found is not None else "does not exist"
        raise AssignorNotFoundError(
            f"{sought} cannot be made: {name!r} {what} in {module.__name__}."
            f"{did_you_mean(name, functions)} "
            f"Name a {sought.noun} of that module that {sought.does}."
        )
    origin = str(getattr(found, "__module__", ""))
    top = module.__name__.partition(".")[0]
    if origin.partition(".")[0] != top:
        raise AssignorNotFoundError(
            f"{sought} is not loaded: {module.__name__} only imports {name!r}, from "
            f"{origin or 'another module'}. Define a {sought.noun} in it that {sought.does}."
        )
    return found
