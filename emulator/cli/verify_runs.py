"""``rebalance verify``: judge every captured run, then print all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from emulator.cli.output import Progress, say_all, say_json
from emulator.cli.verify_tables import one_run, overview
from emulator.conformance.captured.capture import find_runs, read_capture
from emulator.conformance.figures import as_json as line_of
from emulator.conformance.verifying import Figures, Play, Verdict, figures_of, verify
from emulator.processes import cores, parallel_map


def verify_runs(captures: Sequence[Path], seeds: int, jobs: int | None, *, as_json: bool) -> bool:
    """Judge the runs at all paths and print the verdicts; return whether all are inside.

    Raise CaptureError, before anything is played or printed, if one of them is not sound.
    """
    runs = [run for path in captures for run in find_runs(_named(path))]
    if len(runs) > 1:
        for run in runs:
            read_capture(run)
    verdicts = list(_judged(runs, seeds, jobs))
    if as_json:
        for verdict in verdicts:
            say_json(_line(verdict))
    else:
        say_all(overview(verdicts) if len(verdicts) > 1 else one_run(verdicts[0]))
    return not any(verdict.outside for verdict in verdicts)


def _named(path: Path) -> Path:
    """Return a path by which the folder above can be found, too."""
    return path.resolve() if path.name in ("", "..") else path


def _judged(runs: Sequence[Path], seeds: int, jobs: int | None) -> Iterator[Verdict]:
    with Progress("captured runs") as progress:
        for done, run in enumerate(runs):
            progress.show(done, len(runs))
            yield verify(run, seeds, partial(_play_all, jobs=jobs or cores()))


def _play_all(plays: Sequence[Play], jobs: int) -> Iterator[Figures]:
    name = "/".join(plays[0].path.parts[-2:])
    with Progress(f"seeds of {name}") as progress:
        yield from parallel_map(figures_of, plays, jobs=jobs, progress=progress.show)


def _line(verdict: Verdict) -> dict[str, Any]:
    """Return one run's line of ``--json``; a skipped one is neither inside nor outside."""
    line = line_of(verdict.capture, verdict.figures)
    if verdict.skipped is not None:
        return {**line, "inside": None, "skipped": verdict.skipped}
    return {**line, "seeds": verdict.seeds}
