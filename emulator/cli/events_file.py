"""The file of ``--events``: opened before the run, so that a run is not played for nothing."""

from __future__ import annotations

import json
from pathlib import Path

from emulator.errors import RefusedError, reason_of
from emulator.events.parquet import EventFile
from emulator.scenario.manifest import manifest
from emulator.scenario.model import Scenario

MAGIC = b"PAR1"
"""Begins every Parquet file."""


def open_events(path: Path, scenario: Scenario, seed: int) -> EventFile:
    """Open a Parquet file for the events of a run; raise RefusedError if that cannot be."""
    head = manifest(scenario)
    metadata = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in head.items()
    }
    try:
        reason = parquet_objection(path)
        if reason is None:
            return EventFile(path, {**metadata, "seed": str(seed)}, scenario.start)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"--events: {path}: cannot be written: {reason}")


def parquet_objection(path: Path) -> str | None:
    """Say why a file of that name must not be written: what is there may be dear to somebody."""
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.suffix != ".parquet":
        return "the name of a Parquet file ends in .parquet"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not path.exists():
        return None
    if not path.is_file():
        return "it is no file but a device or a pipe"
    with path.open("rb") as there:
        if there.read(len(MAGIC)) != MAGIC:
            return "there is a file of that name that is not Parquet; take another name"
    return None
