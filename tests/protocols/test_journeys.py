"""The ways of a JoinGroup, of a commit and of a new owner's start cross few files."""

from __future__ import annotations

import pytest

from benchmarks.journeys import BOUNDS, JOURNEYS


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_a_journey_crosses_few_files(name):
    """Counted by what is executed; see ``benchmarks/journeys.py``."""
    files = JOURNEYS[name]()
    assert 0 < len(files) <= BOUNDS[name], sorted(files)
