"""Settings and fixtures for all tests."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path

import hypothesis
import pytest

from emulator.report.wording import WIDTH

ALLOCATIONS_BETWEEN_COLLECTIONS = 500_000

ROOMS_OF_RUNS = {
    Path(__file__).parent / "emulator" / room
    for room in (
        *("advice", "cli", "clients", "conformance", "failure_matrix", "ledger", "logs"),
        *("modes", "report", "scenarios", "study", "verdicts", "world"),
    )
}
"""Their tests play runs, a few tenths of a second each: unless a test says otherwise, every fourth case
is for ``make test``, every second of the others for ``make test-long``, the rest for the soaks."""

# The time of a test depends on the load of the machine; its examples are always the same.
# Use --hypothesis-profile=exploring to search for new ones, four times as many.
hypothesis.settings.register_profile("settled", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("exploring", deadline=None, derandomize=False)
hypothesis.settings.load_profile("settled")

# A slow machine must not add lines to what a command writes.
os.environ.setdefault("REBALANCE_PROGRESS", "off")

# Reports are as wide as in a file, whatever the terminal; workers of xdist have 80 columns.
os.environ["COLUMNS"] = str(WIDTH)
os.environ.pop("FORCE_COLOR", None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Leave cases to the long tests or the soaks, as their marks say; begin with the longest tests."""
    mark_rooms_of_runs(items)
    mark_spark(items)
    leave_all_but_each_nth(items, "plain_of", to="long")
    leave_all_but_each_nth([each for each in items if is_long(each)], "one_of", to="soak")
    yield
    items[:] = longest_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def mark_rooms_of_runs(items: list[pytest.Item]) -> None:
    """Give tests that play runs the marks of their room, unless they have marks of their own."""
    rooms = {path: ROOMS_OF_RUNS & set(path.parents) for path in {item.path for item in items}}
    for item in items:
        if rooms[item.path] and not {"long", "plain_of"} & {m.name for m in item.iter_markers()}:
            item.add_marker(pytest.mark.plain_of(4))
            item.add_marker(pytest.mark.one_of(2))


def mark_spark(items: list[pytest.Item]) -> None:
    """Leave tests with a real Spark to the long tests, together: each worker that plays one starts it."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker("long")
            item.add_marker("minutes")


def is_long(item: pytest.Item) -> bool:
    """Return whether ``make test`` leaves a test out."""
    return item.get_closest_marker("long") is not None


def leave_all_but_each_nth(items: list[pytest.Item], name: str, to: str) -> None:
    """Mark all cases of a test but every n-th where it has a mark of this name with n."""
    cases = Counter[str]()
    for item in items:
        mark = item.get_closest_marker(name)
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            if cases[test] % mark.args[0]:
                item.add_marker(to)
            cases[test] += 1


def longest_first(items: list[pytest.Item], workers: int) -> Iterator[pytest.Item]:
    """Yield an equal number of tests for each worker, first those that take a minute.

    At first xdist gives each worker such a share of the tests in a row (``worksteal``). A long test that
    began last would keep one worker busy when the others have ended. Those of one folder stay together.
    """
    folders: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("minutes"):
            folders.setdefault(item.path.parent, []).append(item)
    others = (item for item in items if not item.get_closest_marker("minutes"))
    left = len(items)
    for worker in range(workers):
        share = left // (workers - worker)
        left -= share
        longest = [item for folder in list(folders.values())[worker::workers] for item in folder]
        yield from longest
        yield from islice(others, max(0, share - len(longest)))
    yield from others


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
