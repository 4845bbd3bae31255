"""The table of series: six captured runs of each experiment, and how many of them are inside.

The figures of all runs are in ``tests/captures-more/figures.csv``; three runs of each experiment are beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

FIGURES = Path(__file__).parents[2] / "tests" / "captures-more" / "figures.csv"
SHOWN = ("duplicates", "lost", "takeover_first_s", "stall_last_s")

Row = dict[str, str]

_OPENING = """
## Series of runs

Six runs of each experiment in `examples/experiments`, made by `rebalance capture` two at a time on machines with
2 cores. `tests/captures-more` has the first three; that machine had other work, too, and noisy ones were made again once.
The other three had a slower machine to themselves, and only those without a result were made again. The figures
of all are in `figures.csv`, which `python -m benchmarks.captured_series` writes. In each cell: real / emulated, as
median and range over the runs, by the prediction without noise. Inside: by that prediction alone, and with the range of
up to 200 seeds.

| experiment | runs | noisy | duplicates | lost | takeover_first (s) | stall_last (s) | one prediction | with seeds | outside |
|---|---|---|---|---|---|---|---|---|---|"""


def rows() -> list[Row]:
    """Return the figures of all runs, by experiment and number."""
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def series_section() -> Iterator[str]:
    """Yield the section of the page, line by line."""
    yield _OPENING
    found = rows()
    for experiment, runs in groupby(found, lambda row: row["experiment"]):
        yield _line(experiment, list(runs))
    calm, inside = (sum(map(is_inside, found)) for is_inside in (_calmly_inside, _inside))
    noisy = sum(row["noisy"] == "1" for row in found)
    yield f"| all | {len(found)} | {noisy} | | | | | {calm} | {inside} | |"


def _line(experiment: str, runs: Sequence[Row]) -> str:
    outside = [f"run-{row['run']}: {row['outside']}" for row in runs if row["outside"]]
    cells = [
        experiment,
        len(runs),
        sum(row["noisy"] == "1" for row in runs),
        *(_cell(runs, name) for name in SHOWN),
        sum(map(_calmly_inside, runs)),
        sum(map(_inside, runs)),
        "; ".join(outside) or "none",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _calmly_inside(row: Row) -> bool:
    return row["seeds"] == "0"


def _inside(row: Row) -> bool:
    return not row["outside"]


def _cell(runs: Sequence[Row], name: str) -> str:
    sides = [
        [float(row[f"{side}_{name}"]) for row in runs if row[f"{side}_{name}"]]
        for side in ("real", "emulated")
    ]
    if not any(sides):
        return "none"
    return " / ".join(_spread(values) if values else "none" for values in sides)


def _spread(values: Sequence[float]) -> str:
    low, middle, high = (_number(value) for value in (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    return str(round(value)) if float(value).is_integer() else f"{value:.1f}"
