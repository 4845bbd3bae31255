"""Captured runs for the tests: a few of the repository, all of a folder for the long tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import (
    Capture,
    find_runs,
    read_capture,
    why_not_comparable,
)

KEPT = Path(__file__).parents[2] / "captures"
CAPTURES = os.environ.get("REBALANCE_CAPTURES")
FOLDERS = [os.environ.get(name) for name in ("REBALANCE_CAPTURES", "REBALANCE_CAPTURES_OPEN")]
AT_HAND = tuple(run for folder in FOLDERS if folder for run in find_runs(Path(folder)))


def each_at_hand() -> list:
    """Return all of them; the long tests take the first of each experiment, the soaks the others."""
    firsts = {run.parent: run for run in reversed(AT_HAND)}.values()
    return [
        pytest.param(
            run,
            id=f"{run.parent.name}-{run.name}",
            marks=() if run in firsts else pytest.mark.soak,
        )
        for run in AT_HAND
    ]


@cache
def _read(path: Path) -> Capture:
    return read_capture(path)


@pytest.fixture(scope="session")
def kept() -> Path:
    """Return the folder of the captures kept with the tests."""
    return KEPT


@pytest.fixture(scope="session")
def capture() -> Callable[[str], Capture]:
    """Return a reader of kept captures by name, ``crash-range-auto/run-1``."""
    return lambda name: _read(KEPT / name)


@pytest.fixture(scope="session")
def kept_runs() -> tuple[Capture, ...]:
    """Return all kept captures, each read once for all tests."""
    return tuple(map(_read, find_runs(KEPT)))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of one small capture that a test may spoil."""
    source = KEPT / "crash-range-auto"
    shutil.copytree(source, tmp_path / source.name)
    return tmp_path / source.name / "run-1"


@pytest.fixture(scope="session", params=each_at_hand())
def capture_at_hand(request: pytest.FixtureRequest) -> Capture:
    """Return each capture of both folders in turn, read once for all tests."""
    return read_capture(request.param)


@pytest.fixture(scope="session")
def comparable_capture(capture_at_hand: Capture) -> Capture:
    """Return each capture of both folders that the emulator can be compared with."""
    reason = why_not_comparable(capture_at_hand)
    if reason is not None:
        pytest.skip(reason)
    return capture_at_hand
