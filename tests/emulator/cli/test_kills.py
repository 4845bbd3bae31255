"""Commands that are killed, or run out of disk, or run twice at once, still write the same bytes."""

from __future__ import annotations

import random  # noqa: TID251  disturbs processes, not simulated worlds

import pytest

from benchmarks.kills import DISTURBANCES, POSSIBLE, commands, problem_after

pytestmark = pytest.mark.long
KILLS = 2
"""Of each command; ``python -m benchmarks.kills`` tries any number."""

SLOW = ("study", "audit")
"""Commands that start Spark; disturbed in other ways than these two they are left to the soaks."""

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
    """Give the commands by their names."""
    found = commands(tmp_path_factory.mktemp("kills"))
    return {command.name: command for command in found}


@pytest.mark.parametrize(("name", "how"), disturbed())
def test_the_same_command_writes_the_same_bytes_after_a_disturbance(
    undisturbed, tmp_path, name, how
):
    """And leaves nothing beside them."""
    if how in POSSIBLE and not POSSIBLE[how](tmp_path):
        pytest.skip("this machine cannot be brought into that state by this user")
    draw = random.Random(f"{name} {how}")
    for number in range(KILLS if how == "killed" else 1):
        folder = tmp_path / str(number)
        folder.mkdir()

        assert problem_after(undisturbed[name], how, folder, draw) is None
