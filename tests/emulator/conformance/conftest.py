"""Captured runs for the tests: a few kept here, all of a folder for the long ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="session")
def every_capture() -> Callable[[], Iterator[Capture]]:
    """Return a reader of all comparable captures of ``REBALANCE_CAPTURES``."""
    folder = os.environ.get("REBALANCE_CAPTURES")
    if not folder:
        pytest.skip("REBALANCE_CAPTURES names no folder of captures")

    def read() -> Iterator[Capture]:
        for path in find_runs(Path(folder)):
            run = read_capture(path)
            if why_not_comparable(run) is None:
                yield run

    return read
