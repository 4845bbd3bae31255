"""Whether several seeds of a scenario differ at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.metrics.metrics import Metrics
from emulator.report.wording import paragraph

NO_CHANCE = (
    "Every seed gave the same figures: nothing that is left to chance changes them. To see a "
    'spread, let a fault happen at some time (between = ["70s", "80s"] in place of at), or give '
    "latencies or work times a distribution."
)


def all_alike(runs: Sequence[Metrics]) -> bool:
    """Say whether several runs, of as many seeds, have the same figures."""
    return len(runs) > 1 and all(run.values == runs[0].values for run in runs)


def no_chance(*columns: Sequence[Metrics]) -> Iterator[str]:
    """Yield a paragraph that says so if in no column anything depends on the seed."""
    if all(map(all_alike, columns)):
        yield from paragraph(NO_CHANCE)
