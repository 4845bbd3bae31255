"""Settings and fixtures for all tests."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from emulator.report.wording import WIDTH

ALLOCATIONS_BETWEEN_COLLECTIONS = 20_000

# The time of a test depends on the load of the machine; its examples are always the same.
# Use --hypothesis-profile=exploring to search for new ones, twice as many.
hypothesis.settings.register_profile("settled", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("exploring", deadline=None, derandomize=False)
hypothesis.settings.load_profile("settled")

# A slow machine must not add lines to what a command writes.
os.environ.setdefault("REBALANCE_PROGRESS", "off")

# Reports are as wide as in a file, whatever the terminal; workers of xdist have 80 columns.
os.environ["COLUMNS"] = str(WIDTH)
os.environ.pop("FORCE_COLOR", None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all long cases of a test but every n-th to the soaks where it is marked ``one_of(n)``."""
    cases = Counter[str]()
    for item in items:
        mark, is_long = item.get_closest_marker("one_of"), item.get_closest_marker("long")
        if mark is not None and is_long is not None:
            test = item.nodeid.partition("[")[0]
            if cases[test] % mark.args[0]:
                item.add_marker("soak")
            cases[test] += 1


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection, which takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector]]:
    """Search no test module for doctests: there are none."""
    collectors = yield
    if not file_path.is_relative_to(Path(__file__).parent):
        return collectors
    return [found for found in collectors if type(found).__name__ != "DoctestModule"]


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no processes by default: a test that is about them says how many it wants."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
