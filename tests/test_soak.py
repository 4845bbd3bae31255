"""A soak tries new inputs under every seed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.soak import command_of

DRAWS = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=5, database=None)
@given(st.integers())
def test_draws(number):
    print("drew", number)
"""


def drawn(path: Path, seed: int) -> list[str]:
    """Return what a property draws in a soak of a seed, with the settings of all tests."""
    command = [*command_of(str(path), seed), "-s", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "drew" in line]


@pytest.mark.long
def test_two_seeds_draw_different_inputs(tmp_path):
    """The settings of plain tests would draw the same ones, whatever the seed."""
    path = tmp_path / "test_draws.py"
    path.write_text(DRAWS)
    first = drawn(path, 1)

    assert first
    assert first != drawn(path, 2)
