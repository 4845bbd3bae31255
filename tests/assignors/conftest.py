"""Fixtures for the tests of the assignors: groups in short form, and Kafka's golden steps."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from assignors.types import Assignment, Subscription, Topics

HERE = Path(__file__).parents[1] / "golden"


def golden_files() -> list[Path]:
    """Return the golden files of the repository and those REBALANCE_GOLDEN points at."""
    given = os.environ.get("REBALANCE_GOLDEN")
    found = sorted(Path(given).glob("assignors*.jsonl")) if given else []
    return [*sorted(HERE.glob("assignors*.jsonl.gz")), *found]


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, compressed or not."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    yield from text.decode().splitlines()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that use ``golden_file`` for each file, all tests of a file in a row."""
    if "golden_file" in metafunc.fixturenames:
        files = golden_files()
        ids = [f"{'extra-' if path.suffix != '.gz' else ''}{path.name}" for path in files]
        metafunc.parametrize("golden_file", files, ids=ids, scope="module")


@pytest.fixture
def group() -> Callable[[Mapping[str, str]], dict[str, Subscription]]:
    """Give a function that makes subscriptions of member to topics, as ``{"C0": "t0 t1"}``."""

    def make(topics: Mapping[str, str]) -> dict[str, Subscription]:
        return {
            member: Subscription(topics=tuple(names.split())) for member, names in topics.items()
        }

    return make


@pytest.fixture
def counts() -> Callable[..., Topics]:
    """Give a function that makes topics of their partition counts, as ``counts(t0=4)``."""

    def make(**partitions: int) -> Topics:
        return Topics(partition_counts=partitions)

    return make


@pytest.fixture
def words() -> Callable[[Assignment], dict[str, str]]:
    """Give a function that spells an assignment as the specification does: ``t0p1 t1p0``."""

    def spell(assignment: Assignment) -> dict[str, str]:
        return {
            member: " ".join(f"{topic}p{number}" for topic, number in partitions)
            for member, partitions in assignment.items()
        }

    return spell


@pytest.fixture
def example_folder() -> Sequence[Path]:
    """Give the folder of the example assignors, as ``load_assignor`` takes it."""
    return [Path(__file__).parents[2] / "examples" / "assignors"]
