"""Commands that are killed, or run out of disk, or run twice at once, still write the same bytes."""

from __future__ import annotations

import random  # noqa: TID251  disturbs processes, not simulated worlds
from functools import cache

import pytest

from benchmarks.kills import DISTURBANCES, POSSIBLE, commands, problem_after

pytestmark = pytest.mark.long

NEVER_LEFT_OUT = {
    "study": ("killed", "two at once"),
    "import": ("killed", "full disk", "full file system"),
    "audit": ("killed", "read-only"),
}
"""The other disturbances of a command are left to the soaks."""


def disturbed() -> list:
    """Return each command with each disturbance."""
    return [
        pytest.param(name, how, marks=() if how in ways else pytest.mark.soak)
        for name, ways in NEVER_LEFT_OUT.items()
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
