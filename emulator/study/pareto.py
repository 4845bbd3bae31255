"""Which cells no other one beats: less of everything is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emulator.study.results import CellResults


@dataclass(frozen=True, slots=True)
class Front:
    """The cells of one trade-off."""

    metrics: tuple[str, ...]
    means: dict[int, tuple[float, ...]]
    """Each cell's means, in order of the metrics."""

    cells: tuple[int, ...]
    """Those no other cell beats: as good in every metric and better in one. By the first metric."""


def front(results: Sequence[CellResults], metrics: tuple[str, ...]) -> Front:
    """Return the Pareto set of some metrics' means over the cells' runs."""
    told = [each for each in results if each.seeds]
    means = np.array([[np.mean(each.values[name]) for name in metrics] for each in told])
    kept = [place for place in range(len(told)) if not is_beaten(means, place)]
    kept.sort(key=lambda place: (*means[place], told[place].cell.number))
    return Front(
        metrics=metrics,
        means={
            each.cell.number: tuple(map(float, row)) for each, row in zip(told, means, strict=True)
        },
        cells=tuple(told[place].cell.number for place in kept),
    )


def is_beaten(costs: np.ndarray[tuple[int, int], np.dtype[np.float64]], place: int) -> bool:
    """Say whether some row of costs is as good as one row in everything, and better in something."""
    as_good = (costs <= costs[place]).all(axis=1)
    better = (costs < costs[place]).any(axis=1)
    return bool((as_good & better).any())
