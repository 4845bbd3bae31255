"""The comparison of folded and exact runs, as text and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assignors.values import dataclass
from emulator.report.run_document import folded_document
from emulator.report.screens.run import folded_text
from emulator.report.subject import Subject, heading
from emulator.report.wording import paragraph


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """One seed, played in both modes."""

    seed: int
    digest: str
    events: int
    difference: str | None
    """The first difference, one or more lines; None: both runs are equal."""

    folded: float
    live: Mapping[str, float]


def modes_screen(subject: Subject, runs: Sequence[CheckedRun]) -> Iterator[str]:
    """Yield the heading, and the result for each seed."""
    yield from heading(subject, "folded and exact mode")
    yield ""
    for run in runs:
        yield from paragraph(_result(run), f"seed {run.seed}: ", "  ")
        if run.difference is not None:
            for line in run.difference.splitlines():
                yield from paragraph(line, "  ", "    ")
        yield from paragraph(f"folded: {folded_text(run.folded, run.live)}", "  ", "    ")


def _result(run: CheckedRun) -> str:
    if run.difference is not None:
        return "different; this is an error of the emulator. The first difference:"
    return (
        f"equal: {run.events:,} events, ledger, metrics, findings, offsets log, digest {run.digest}"
    )


def modes_document(runs: Sequence[CheckedRun]) -> dict[str, Any]:
    """Return what ``run --mode check --json`` prints besides the manifest."""
    return {
        "mode": "check",
        "equal": all(run.difference is None for run in runs),
        "runs": [
            {
                "seed": run.seed,
                "digest": run.digest,
                "events": run.events,
                "difference": run.difference,
                "folded": folded_document(run.folded, run.live),
            }
            for run in runs
        ],
    }
