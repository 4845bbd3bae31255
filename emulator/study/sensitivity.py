"""Sensitivity analysis: the share of the variance between cells that each setting explains.

For each axis (the protocol is one), cells are grouped by their value on it. The share of the
variance between the cells' means that lies between those groups is the main effect of the axis,
corrected for chance. In a grid, which has each combination of values once, chance is the seeds: what
the means of groups vary by from seed to seed is subtracted. In a Latin hypercube it is also which
values come together: that is Kelley's epsilon squared, of values sorted into at most eight groups,
as they hardly repeat. Variance that no axis explains by itself is interaction and noise.

Intervals come from a percentile bootstrap over seeds. All cells use the same resampled seeds, so
the cells stay paired; the random numbers are addressed, so the figures are reproducible with every
version of NumPy. A resampled mean varies by the seeds twice, as the sample does and around it: in a grid
the second time is subtracted from both sums of squares. With few seeds that does not suffice, so the
interval is widened to the share where it ends before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assignors.values import dataclass
from emulator.study.summary import CellResults
from emulator.world.draws import stream_key

REPLICATES = 400
MAX_GROUPS = 8

NEGLIGIBLE = 0.01
"""Share of the largest mean: if cells differ by less, every share is 0."""

Numbers = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Influence:
    """The main effect of one axis on one metric."""

    metric: str
    axis: str
    share: float
    """Of the variance between cells, from 0 to 1."""

    low: float
    high: float
    """Ends of the 95 % bootstrap interval of the share."""

    least: str
    """The value with the smallest mean of the metric, then that mean."""

    least_mean: float
    most: str
    most_mean: float


def influences(results: Sequence[CellResults], metrics: Sequence[str]) -> list[Influence]:
    """Return the influence of every axis on every metric, for each metric the largest first.

    Only seeds that have a value of the metric in every cell are used. A metric is left out with
    fewer than two of them, or two cells.
    """
    if len(results) < 2:
        return []
    axes = _axes(results)
    is_grid = _is_grid([labels for _, labels in axes], len(results))
    found = []
    for metric in metrics:
        tables = [each.by_seed(metric) for each in results]
        seeds = sorted(set.intersection(*map(set, tables)))
        if len(seeds) < 2:
            continue
        values = np.array([[table[seed] for seed in seeds] for table in tables])
        weights = bootstrap_weights(len(seeds), REPLICATES)
        each_axis = [
            _influence(metric, name, labels, values, weights, is_grid=is_grid)
            for name, labels in axes
        ]
        found += sorted(each_axis, key=lambda one: (-one.share, one.axis))
    return found


def bootstrap_weights(seeds: int, replicates: int) -> Numbers:
    """Return the weight of each seed in each replicate; each row sums to 1."""
    addresses = np.arange(replicates * seeds, dtype=np.uint64)
    shares = draws(stream_key(0, "study bootstrap", str(seeds)), addresses)
    drawn = (shares * seeds).astype(np.int64).reshape(replicates, seeds)
    counts = np.zeros((replicates, seeds))
    np.add.at(counts, (np.repeat(np.arange(replicates), seeds), drawn.ravel()), 1.0)
    return counts / seeds


def draws(key: int, addresses: npt.NDArray[np.uint64]) -> Numbers:
    """Return ``emulator.world.draws.draw(key, address)`` for many addresses at once."""
    z = np.uint64(key) + addresses * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _axes(results: Sequence[CellResults]) -> list[tuple[str, list[str]]]:
    """Return each axis with more than one value, and the group of each cell on it."""
    settings = [each.cell.settings for each in results]
    axes = [("protocol", [each.protocol for each in settings])]
    for place, first in enumerate(settings[0].point):
        points = [each.point[place] for each in settings]
        labels = [choice.label for choice in points]
        numbers = [choice.number for choice in points if choice.number is not None]
        if len(set(labels)) > MAX_GROUPS and len(numbers) == len(points):
            labels = _grouped(numbers, labels)
        axes.append((first.axis, labels))
    return [(name, labels) for name, labels in axes if len(set(labels)) > 1]


def _grouped(numbers: list[float], labels: list[str]) -> list[str]:
    """Return group names for values, in groups of about equal size named by their ends."""
    distinct = sorted(set(zip(numbers, labels, strict=True)))
    many = min(MAX_GROUPS, max(2, len(distinct) // 4))
    parts = [part for part in np.array_split(np.arange(len(distinct)), many) if len(part)]
    names = {}
    for part in parts:
        low, high = distinct[int(part[0])][1], distinct[int(part[-1])][1]
        for place in part:
            names[distinct[int(place)]] = f"{low} to {high}"
    return [names[pair] for pair in zip(numbers, labels, strict=True)]


def _is_grid(labels: Sequence[list[str]], cells: int) -> bool:
    """Return whether each combination of values is one cell."""
    combinations = set(zip(*labels, strict=True))
    return len(combinations) == cells == math.prod(len(set(each)) for each in labels)


def _influence(
    metric: str,
    axis: str,
    labels: list[str],
    values: Numbers,
    weights: Numbers,
    *,
    is_grid: bool,
) -> Influence:
    names = list(dict.fromkeys(labels))
    groups = np.array([names.index(label) for label in labels])
    means = values.mean(axis=1)
    noise = _noise(values, groups) if is_grid else None
    share = _share(means, groups, noise)
    replicated = np.sort([_share(row, groups, noise, times=2) for row in weights @ values.T])
    by_group = [float(means[groups == number].mean()) for number in range(len(names))]
    least, most = int(np.argmin(by_group)), int(np.argmax(by_group))
    return Influence(
        metric=metric,
        axis=axis,
        share=share,
        low=min(share, float(replicated[int(0.025 * REPLICATES)])),
        high=max(share, float(replicated[int(0.975 * REPLICATES)])),
        least=names[least],
        least_mean=by_group[least],
        most=names[most],
        most_mean=by_group[most],
    )


@dataclass(frozen=True, slots=True)
class Noise:
    """The sums of squares of means that the choice of seeds alone makes, on average."""

    between: float
    """Between groups."""

    total: float
    """Between cells."""


def _noise(values: Numbers, groups: Groups) -> Noise:
    """Return what the choice of seeds adds to sums of squares."""
    sizes = np.bincount(groups)
    centred = values - values.mean(axis=0)
    by_seed = np.array([centred[groups == number].mean(axis=0) for number in range(len(sizes))])
    between, total = (sizes * _variances(by_seed)).sum(), _variances(centred).sum()
    return Noise(float(between), float(total))


def _variances(rows: Numbers) -> Numbers:
    """Return the variance of the mean of each row over its seeds."""
    return np.asarray(rows.var(axis=1, ddof=1) / rows.shape[1])


def _share(means: Numbers, groups: Groups, noise: Noise | None, *, times: int = 1) -> float:
    """Return the corrected share of variance between groups; 0 if the variance is negligible.

    *noise*: what to subtract in a grid; without it, what randomly drawn cells would share. *times*: how
    often the means vary by it; the total keeps it once, as the part that no axis explains.
    """
    if np.ptp(means) <= NEGLIGIBLE * np.abs(means).max():
        return 0.0
    total = float(((means - means.mean()) ** 2).sum())
    sizes = np.bincount(groups)
    sums = np.bincount(groups, weights=means)
    between = float((sizes * (sums / sizes - means.mean()) ** 2).sum())
    if noise is None:
        cells, many = len(means), len(sizes)
        of_chance = (total - between) * (many - 1) / (cells - many) if cells > many else 0.0
    else:
        of_chance = times * noise.between
        total -= (times - 1) * noise.total
    return min(max(0.0, between - of_chance) / total, 1.0) if total > 0 else 0.0
