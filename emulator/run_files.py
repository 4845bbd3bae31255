"""Open the files that a run writes: its events as Parquet, its offsets log as segments.

Both are opened before the run, so that no run is played if its result cannot be written.
"""

from __future__ import annotations

import json
from pathlib import Path

from emulator.errors import RefusedError, reason_of
from emulator.events.parquet import EventFile
from emulator.scenario.model import Scenario
from emulator.scenario.writing import manifest

PARQUET_MAGIC = b"PAR1"


def open_events(path: Path, scenario: Scenario, seed: int) -> EventFile:
    """Open a Parquet file for the events of a run; raise RefusedError if it cannot be written."""
    metadata = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in manifest(scenario).items()
    }
    try:
        reason = parquet_objection(path)
        if reason is None:
            return EventFile(path, {**metadata, "seed": str(seed)}, scenario.start)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"{path}: cannot be written: {reason}")


def parquet_objection(path: Path) -> str | None:
    """Return why a Parquet file must not be written there; files of the user are never replaced."""
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.suffix != ".parquet":
        return "the name of a Parquet file ends in .parquet"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not path.exists():
        return None
    if not path.is_file():
        return "it is a device or a pipe, not a file"
    with path.open("rb") as existing:
        if existing.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
            return "a file of that name exists and is not Parquet; take another name"
    return None


def log_folder_objection(path: Path) -> str | None:
    """Return why an offsets log must not be written there; files of the user are never replaced."""
    if path.is_symlink():
        return "it is a link; name a folder that does not exist"
    if path.is_dir():
        if any(path.iterdir()):
            return "the folder is not empty; name an empty one, or one that does not exist"
        return None if path.name else "it has no name of its own; name a folder in it"
    if path.exists():
        return "it exists and is not a folder; name one that does not exist"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return None
