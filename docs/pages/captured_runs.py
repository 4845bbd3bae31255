"""The page of captured runs: each run of a real cluster, and what the emulator makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from docs.pages.captured_series import series_section
from emulator.conformance.captured.capture import find_runs
from emulator.conformance.figures import NOT_JUDGED, Figures, judge_by_seeds
from emulator.conformance.verifying import Play, figures_of
from emulator.processes import cores, parallel_map

CAPTURES = Path(__file__).parents[2] / "tests" / "captures"
SEEDS = 8
SHOWN = ("duplicates", "lost", "takeover_first_s", "takeover_last_s", "stall_last_s")

_OPENING = f"""\
# Captured runs of a real Kafka, and their emulation

Printed by `python -m docs.pages`, which plays every run; do not change this page. The runs are those
in `tests/captures`: Apache Kafka 4.4.0 on one machine with 2 cores, with Java consumers unless the name of
the run has another client. `examples/experiments` has the files with which `rebalance capture` makes many of
them again: [below](#series-of-runs) are six runs of each, and [how far to trust it](../explanation/trust.md) says what
follows. `rebalance verify` makes the same
comparison with any run, such as `rebalance verify tests/captures-more/crash-classic/run-1`, and with your own,
figure by figure.

In each cell: real / emulated, as median and range over {SEEDS} seeds. Work is the median and the 99th
percentile of the processing time of one record, in ms: its excess over the time that the experiment sets
(10 ms in most) is the noise of the machine. [Metrics](metrics.md) has the meaning of the takeover times.
A figure is inside if the prediction without noise is within its tolerance, or if the real value
lies in the range of the seeds. A real value that is rare needs more seeds: `rebalance verify` plays up to 200.
"""

_CLOSING = """\

## Not compared with a real cluster

- Two brokers that fail at once, partitions of the network, unclean elections.
- franz-go; brokers of other releases than 4.4.0.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """One captured run: the figures judged by the seeds, and the figures of each seed."""

    path: Path
    judged: Figures
    seeds: tuple[Figures, ...]

    def values(self, name: str) -> list[float]:
        """Return the values of one figure under the seeds that have it."""
        found = (figure for seed in self.seeds for figure in seed if figure.name == name)
        return [figure.emulated for figure in found if figure.emulated is not None]


def captured_runs_page() -> str:
    """Return the page as text; it plays each run under each seed."""
    return "\n".join([_OPENING, *_table(_compared()), *series_section(), _CLOSING])


@cache
def _compared() -> tuple[Compared, ...]:
    runs = find_runs(CAPTURES)
    plays = [Play(run, seed) for run in runs for seed in (None, *range(1, SEEDS + 1))]
    played = list(parallel_map(figures_of, plays, jobs=cores()))
    size = SEEDS + 1
    found = []
    for place, run in enumerate(runs):
        calm, *seeds = played[place * size : (place + 1) * size]
        found.append(Compared(run, judge_by_seeds(calm, seeds), tuple(seeds)))
    return tuple(found)


def _table(compared: Sequence[Compared]) -> Iterator[str]:
    yield (
        "| run | work | "
        + " | ".join(name.replace("_s", " (s)") for name in SHOWN)
        + (" | figures inside | outside |")
    )
    yield "|---" * (len(SHOWN) + 4) + "|"
    for each in compared:
        judged = [figure for figure in each.judged if figure.allowed != NOT_JUDGED]
        outside = [figure.name for figure in judged if not figure.inside]
        cells = [
            "/".join(each.path.parts[-2:]),
            _work(each.path),
            *(_cell(each, name) for name in SHOWN),
            f"{len(judged) - len(outside)} of {len(judged)}",
            ", ".join(outside) or "none",
        ]
        yield f"| {' | '.join(cells)} |"


def _work(run: Path) -> str:
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    work = summary["record_work_ms"]
    return f"{work['p50']:.1f}, {work['p99']:.1f}"


def _cell(each: Compared, name: str) -> str:
    real = next((figure.real for figure in each.judged if figure.name == name), None)
    values = each.values(name)
    if real is None or not values:
        return "none"
    low, middle, high = (_number(value) for value in (min(values), median(values), max(values)))
    spread = middle if low == high else f"{middle} ({low} to {high})"
    return f"{_number(real)} / {spread}"


def _number(value: float) -> str:
    return str(round(value)) if float(value).is_integer() else f"{value:.1f}"
