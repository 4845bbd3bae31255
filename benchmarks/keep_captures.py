"""Keep captured runs of each experiment in the repository, at a small size.

``python -m benchmarks.keep_captures FOLDER [MAX]`` copies up to MAX (3) usable runs of each experiment
in ``examples/experiments``, quiet ones first, from FOLDER to ``tests/captures-more``, in place of those
that it has of the experiment, without the raw segment of the offsets topic, whose records each run has
as text. It prints what there is of each experiment. Those few runs that tests and printed pages play
are in ``tests/captures``.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXPERIMENTS, KEPT = ROOT / "examples" / "experiments", ROOT / "tests" / "captures-more"
MAX = 3
RAW = "__consumer_offsets-"
"""Where the names of segments begin; ``verify`` reads the records as text."""


@dataclass(frozen=True, slots=True)
class Made:
    """A captured run that can be used."""

    path: Path
    noisy: bool
    number: int


def main(folder: Path, most: int = MAX, experiments: Path = EXPERIMENTS, kept: Path = KEPT) -> int:
    """Keep runs of each experiment; return 1 if one of them has too few."""
    short = 0
    total = 0
    print(f"{'experiment':26} {'runs':>4} {'quiet':>5} {'kept':>4} {'KB':>5}")
    names = sorted(path.stem for path in experiments.glob("*.toml"))
    for name in names:
        runs = usable_runs(folder / name)
        chosen = chosen_of(runs, most)
        if chosen:
            shutil.rmtree(kept / name, ignore_errors=True)
        size = sum(keep(run, kept) for run in chosen)
        total += size
        short += len(chosen) < most
        quiet = sum(not run.noisy for run in runs)
        print(f"{name:26} {len(runs):4} {quiet:5} {len(chosen):4} {size / 1e3:5.0f}")
    print(
        f"{total / 1e6:.1f} MB kept; {short} of {len(names)} experiments with fewer than {most} runs"
    )
    return int(short > 0)


def usable_runs(folder: Path) -> list[Made]:
    """Return the complete runs of an experiment, in the order of their numbers."""
    found = []
    for path in folder.glob("run-*"):
        number = path.name.removeprefix("run-")
        if number.isdecimal() and (path / "summary.json").exists():
            summary = json.loads((path / "summary.json").read_text())
            meta = json.loads((path / "meta.json").read_text())
            if summary.get("error") is None and summary["drained"]:
                found.append(Made(path, meta["noise"]["noisy"], int(number)))
    return sorted(found, key=lambda run: run.number)


def chosen_of(runs: Sequence[Made], most: int) -> list[Made]:
    """Return the runs to keep: quiet ones before noisy ones, low numbers before high ones."""
    return sorted(runs, key=lambda run: (run.noisy, run.number))[:most]


def keep(run: Made, kept: Path) -> int:
    """Copy a run, and the plan of its experiment; return the number of bytes."""
    target = kept / run.path.parent.name / run.path.name
    target.mkdir(parents=True)
    shutil.copyfile(run.path.parent / "scenario.json", target.parent / "scenario.json")
    return sum(_copy(file, target / file.name) for file in _needed(run.path))


def _needed(path: Path) -> Iterator[Path]:
    return (file for file in sorted(path.iterdir()) if not file.name.startswith(RAW))


def _copy(file: Path, target: Path) -> int:
    content = file.read_bytes()
    if file.suffix == ".gz":
        content = gzip.compress(gzip.decompress(content), compresslevel=9, mtime=0)
    return target.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:3])))
