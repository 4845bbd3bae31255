"""Names lead to assignors, and what leads nowhere says what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assignors.errors import AssignorNotFoundError, PluginError
from assignors.registry import BUILT_IN, find_server_assignor, load_assignor
from assignors.server_range import assign_server_range
from assignors.server_uniform import assign_server_uniform
from assignors.sticky import CooperativeStickyAssignor
from assignors.types import Assignor

OWN = """
from dataclasses import dataclass, replace
from assignors.types import FunctionAssignor

SOME_NUMBER = 3

def create():
    return FunctionAssignor("own", lambda topics, subscriptions: {})

def configured(config):
    return FunctionAssignor(config["name"], lambda topics, subscriptions: {})

def assign(topics, subscriptions):
    return {}

def breaks():
    raise OSError("no such printer")

def nothing():
    return None

def half():
    made = create()
    return type("Half", (), {"name": "", "assign": made.assign})()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Give a folder with a module of the user's own, forgotten after the test."""
    (tmp_path / "own_assignors.py").write_text(OWN)
    (tmp_path / "broken_assignors.py").write_text("1 / 0")
    (tmp_path / "needy_assignors.py").write_text("import absent_library")
    for name in ("own_assignors", "broken_assignors", "needy_assignors"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return [tmp_path]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_each_consumer_gets_an_object_of_its_own(name: str) -> None:
    """The state of one is not seen by another."""
    one, other = load_assignor(name), load_assignor(name)

    assert one is not other
    assert name == one.name
    assert isinstance(one, Assignor)


def test_kafkas_class_names_mean_the_same() -> None:
    """A configuration can be copied as it is."""
    java = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"

    assert isinstance(load_assignor(java), CooperativeStickyAssignor)


def test_an_assignor_of_ones_own_is_made_by_its_function(folder: list[Path]) -> None:
    """With its configuration if the function takes one."""
    assert load_assignor("own_assignors:create", {"unused": 1}, folders=folder).name == "own"
    assert load_assignor("own_assignors:configured", {"name": "x"}, folders=folder).name == "x"


def test_the_search_path_is_left_as_it_was(folder: list[Path]) -> None:
    """Loading one assignor does not let others be found by accident."""
    before = list(sys.path)

    load_assignor("own_assignors:create", folders=folder)

    assert before == sys.path


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rnage", "Did you mean 'range'"),
        ("", "Use range, roundrobin, sticky, cooperative-sticky"),
        ("org.apache.kafka.clients.consumer.RangAssignor", r"Did you mean 'org\..*RangeAssignor'"),
        ("absent_module:create", "no module 'absent_module'"),
        ("needy_assignors:create", "no module 'absent_library'"),
        ("../own.py:create", "is not a module name"),
        (":create", "is not a module name"),
        ("own_assignors:creat", "Did you mean 'create'"),
        ("own_assignors:", "does not exist"),
        ("own_assignors:SOME_NUMBER", "is no function"),
        ("own_assignors:nothing", "NoneType.* is not an assignor"),
        ("own_assignors:assign", "several arguments.* returns an assignor. FunctionAssignor"),
        ("own_assignors:half", "it lacks subscription_user_data, on_assignment, name"),
    ],
)
def test_an_unknown_name_gets_advice(spec: str, message: str, folder: list[Path]) -> None:
    """The closest name, or the searched folder."""
    with pytest.raises(AssignorNotFoundError, match=message):
        load_assignor(spec, folders=folder)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own_assignors:breaks", "failed to be made: OSError: no such printer"),
        ("own_assignors:configured", "failed to be made: KeyError"),
        ("broken_assignors:create", "failed to be imported: ZeroDivisionError"),
    ],
)
def test_an_exception_of_the_users_code_is_reported_as_the_users(
    spec: str, message: str, folder: list[Path]
) -> None:
    """The exception is kept as the cause."""
    with pytest.raises(PluginError, match=message) as caught:
        load_assignor(spec, folders=folder)

    assert caught.value.__cause__ is not None


def test_the_coordinators_assignors_have_names_of_their_own() -> None:
    """``range`` on the coordinator is another class than on the client."""
    java = "org.apache.kafka.coordinator.group.assignor.UniformAssignor"

    assert find_server_assignor("range") is assign_server_range
    assert find_server_assignor(java) is assign_server_uniform

    with pytest.raises(AssignorNotFoundError, match="Did you mean 'uniform'"):
        find_server_assignor("unifrom")
