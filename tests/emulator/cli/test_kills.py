"""Commands that are killed, or run out of disk, or run twice at once, still write the same bytes."""

from __future__ import annotations

import random  # noqa: TID251  disturbs processes, not simulated worlds
from functools import cache

import pytest

from benchmarks.kills import DISTURBANCES, POSSIBLE, commands, problem_after

pytestmark = pytest.mark.long

SLOW = ("study", "audit")
"""Disturbed in other ways than these two, they are left to the soaks; imports take less time."""

ALWAYS = ("killed", "two at once")


def disturbed() -> list:
    """Return each command with each disturbance."""
    return [
        pytest.param(
            name, how, marks=pytest.mark.soak if name in SLOW and how not in ALWAYS else ()
        )
        for name in ("study", "import", "audit")
        for how in DISTURBANCES
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Give what runs a command, once, and returns what it writes."""

    @cache
    def run(name):
        (command,) = commands(tmp_path_factory.mktemp(name), [name])
        return command

    return run


@pytest.mark.minutes
@pytest.mark.parametrize(("name", "how"), disturbed())
def test_the_same_command_writes_the_same_bytes_after_a_disturbance(
    undisturbed, tmp_path, name, how
):
    """And leaves nothing beside them. ``python -m benchmarks.kills`` kills any number of times."""
    if how in POSSIBLE and not POSSIBLE[how](tmp_path):
        pytest.skip("this machine cannot be brought into that state by this user")
    draw = random.Random(f"{name} {how}")

    assert problem_after(undisturbed(name), how, tmp_path, draw) is None
