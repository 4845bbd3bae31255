"""A name in a scenario runs code only of modules that the user has allowed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assignors import own_code
from assignors.errors import AssignorNotFoundError
from assignors.own_code import allow, allow_plugins, allowed, find_function
from assignors.registry import load_assignor

OWN = """
from assignors.types import FunctionAssignor
from logging.config import dictConfig

def create():
    return FunctionAssignor("own", lambda topics, subscriptions: {})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a module, of which nothing is allowed yet."""
    (tmp_path / "own_module.py").write_text(OWN)
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "inner.py").write_text(OWN)
    for name in ("own_module", "own_package", "own_package.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(own_code, "_ALLOWED", own_code._Allowed())
    return tmp_path


@pytest.mark.parametrize("spec", ["logging.config:dictConfig", "os:system", "own_module:create"])
def test_nothing_else_is_imported(spec: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a module of Python nor one that is only in the current folder or on the path."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)

    with pytest.raises(AssignorNotFoundError, match=r"allow it: --plugin \w+") as refused:
        load_assignor(spec, {"version": 1})

    assert "may not run code from elsewhere" in str(refused.value)
    assert "own_module" not in sys.modules


@pytest.mark.parametrize("spec", ["own_module:create", "own_package.inner:create"])
def test_a_module_beside_the_scenario_is_loaded(spec: str, folder: Path) -> None:
    """And is known in runs, which do not know the folder; no other scenario may name it."""
    assert load_assignor(spec, folders=[folder]).name == "own"
    assert load_assignor(spec, folders=None).name == "own"
    with pytest.raises(AssignorNotFoundError, match="not loaded: there is no module"):
        load_assignor(spec, folders=[folder / "own_package"])


def test_what_a_module_only_imports_is_no_function_of_it(folder: Path) -> None:
    """Or ``dictConfig`` would run any program."""
    with pytest.raises(AssignorNotFoundError, match=r"only imports 'dictConfig', from logging"):
        load_assignor("own_module:dictConfig", {"version": 1}, folders=[folder])


def test_a_module_that_has_the_name_of_another_is_refused(folder: Path) -> None:
    """It is not run, and the other one is not taken for it."""
    with pytest.raises(AssignorNotFoundError, match=r"another module 'json' .* another name"):
        load_assignor("json:loads", folders=[folder])


def test_two_modules_of_one_name_are_not_mistaken_for_each_other(folder: Path) -> None:
    """The second would otherwise silently be the first."""
    other = folder / "other"
    other.mkdir()
    (other / "own_module.py").write_text(OWN.replace('"own"', '"other"'))
    load_assignor("own_module:create", folders=[folder])

    with pytest.raises(AssignorNotFoundError, match="already in use"):
        load_assignor("own_module:create", folders=[other])


def test_a_plugin_is_loaded_from_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the modules in it, from the current folder or Python's path."""
    monkeypatch.chdir(folder)

    allow_plugins("own_package")

    assert load_assignor("own_package.inner:create").name == "own"
    with pytest.raises(AssignorNotFoundError, match="--plugin own_module"):
        load_assignor("own_module:create")


def test_a_plugin_that_does_not_exist_is_refused_at_once(folder: Path) -> None:
    """Not when a scenario names it."""
    with pytest.raises(AssignorNotFoundError, match="no module 'absent_plugin'"):
        allow_plugins("absent_plugin")

    assert allowed().plugins == ()


def test_a_worker_process_allows_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins, and the folders of what was loaded."""
    load_assignor("own_module:create", folders=[folder])
    permissions = allowed()
    monkeypatch.setattr(own_code, "_ALLOWED", own_code._Allowed())
    monkeypatch.delitem(sys.modules, "own_module")

    allow(permissions)

    assert load_assignor("own_module:create").name == "own"


def test_allowing_a_module_of_a_package_allows_no_other_one(tmp_path, monkeypatch):
    """Neither in this process nor in its workers, which do not search the folder for scenarios."""
    package = tmp_path / "half_allowed"
    package.mkdir()
    for name in ("__init__", "first", "second"):
        (package / f"{name}.py").write_text("def create():\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    allow_plugins("half_allowed.first")

    assert find_function("half_allowed.first:create", ()) is not None
    with pytest.raises(AssignorNotFoundError):
        find_function("half_allowed.second:create", ())
    assert str(tmp_path) not in allowed().folders
    assert str(tmp_path) in allowed().plugin_folders
