"""Scenarios with assignors of a user's own beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .commands import changed, written

ASSIGNORS = """
from assignors.types import FunctionAssignor
from assignors.types import TopicPartition

ALL = tuple(TopicPartition("orders", number) for number in range(4))


def fine():
    def assign(topics, subscriptions):
        members = sorted(subscriptions)
        return {
            member: tuple(p for p in ALL if p.partition % len(members) == place)
            for place, member in enumerate(members)
        }

    return FunctionAssignor("fine", assign)


def twice():
    return FunctionAssignor("twice", lambda topics, subscriptions: dict.fromkeys(subscriptions, ALL))


def shared():
    def assign(topics, subscriptions):
        return dict.fromkeys(subscriptions, ALL)

    return FunctionAssignor("shared", assign, exclusive=False)


def stranger():
    return FunctionAssignor("stranger", lambda topics, subscriptions: {"nobody": ALL})


def raising():
    def assign(topics, subscriptions):
        raise RuntimeError("out of ideas")

    return FunctionAssignor("raising", assign)


def raising_later():
    usual = fine()

    def assign(topics, subscriptions):
        if len(subscriptions) == 1:
            raise RuntimeError("alone")
        return usual.assign(topics, subscriptions)

    return FunctionAssignor("raising-later", assign)


def ending():
    def assign(topics, subscriptions):
        raise SystemExit(5)

    return FunctionAssignor("ending", assign)


def junk():
    return FunctionAssignor("junk", lambda topics, subscriptions: 7)


def no_assignor():
    return 7


def never_made():
    raise OSError("no licence")
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return what writes a scenario whose group runs one of the assignors above."""
    module = f"assignors_of_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{module}.py").write_text(ASSIGNORS)

    def scenario(name: str) -> Path:
        spec = name if ":" in name else f"{module}:{name}"
        return written(tmp_path, changed(('= "range"', f'= "{spec}"')), f"{name[:8]}.toml")

    yield scenario
    sys.modules.pop(module, None)
