"""Compare a series of captured runs with their emulation, and write one line for each run.

``python -m benchmarks.captured_series FOLDER...`` writes ``tests/captures-more/figures.csv``, from which
the page about captured runs is printed. The folders hold captured runs by experiment, also runs that
are not in the repository; of two runs of the same name, that in the first folder counts. Runs that
one prediction does not meet are played with seeds, up to 200, until each figure lies in their range.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.conformance.captured.capture import find_runs
from emulator.conformance.figures import Figures, judge_by_seeds
from emulator.conformance.verifying import SEEDS, Play, figures_of
from emulator.processes import cores, parallel_map

TABLE = Path(__file__).parent.parent / "tests" / "captures-more" / "figures.csv"
SHOWN = ("duplicates", "lost", "takeover_first_s", "stall_last_s")
COLUMNS = (
    "experiment",
    "run",
    "noisy",
    *(f"{side}_{name}" for name in SHOWN for side in ("real", "emulated")),
    "seeds",
    "outside",
)
OFTEN = 10
"""After so many seeds, only every so manyth time it is looked whether all figures are inside."""


def main(folders: Sequence[Path]) -> None:
    """Write the table."""
    runs: dict[tuple[str, int], Path] = {}
    for folder in folders:
        for run in find_runs(folder):
            runs.setdefault((run.parent.name, int(run.name.removeprefix("run-"))), run)
    rows = parallel_map(row_of, [runs[key] for key in sorted(runs)], jobs=cores())
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            print(row["experiment"], row["run"], row["seeds"], row["outside"], flush=True)


def row_of(run: Path) -> dict[str, Any]:
    """Compare one run."""
    predicted = figures_of(Play(run, None))
    judged, seeds = judged_by_seeds(run, predicted)
    shown = {figure.name: figure for figure in predicted if figure.name in SHOWN}
    noise = json.loads((run / "meta.json").read_text(encoding="utf-8"))["noise"]
    row: dict[str, Any] = {
        "experiment": run.parent.name,
        "run": run.name.removeprefix("run-"),
        "noisy": int(noise["noisy"]),
        "seeds": seeds,
        "outside": " ".join(figure.name for figure in judged if not figure.inside),
    }
    for name, figure in shown.items():
        row |= {f"real_{name}": figure.real, f"emulated_{name}": figure.emulated}
    return row


def judged_by_seeds(run: Path, predicted: Figures) -> tuple[Figures, int]:
    """Return the figures judged by as few seeds as are needed, and the number of these."""
    judged, played = predicted, list[Figures]()
    while any(not figure.inside for figure in judged) and len(played) < SEEDS:
        played.append(figures_of(Play(run, len(played) + 1)))
        if len(played) <= OFTEN or len(played) % OFTEN == 0:
            judged = judge_by_seeds(predicted, played)
    return judged, len(played)


if __name__ == "__main__":
    main([Path(folder).resolve() for folder in sys.argv[1:]])
