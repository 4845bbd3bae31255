"""The file of ``--events``: opened before the run, so that a run is not played for nothing."""

from __future__ import annotations

import json
from pathlib import Path

from emulator.cli.refusals import RefusedError
from emulator.scenario.manifest import manifest
from emulator.scenario.model import Scenario
from emulator.tables import EventFile


def open_events(path: Path, scenario: Scenario, seed: int) -> EventFile:
    """Open a Parquet file for the events of a run; raise RefusedError if that cannot be."""
    head = manifest(scenario)
    metadata = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in head.items()
    }
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        return EventFile(path, {**metadata, "seed": str(seed)}, scenario.start)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RefusedError(f"{path}: cannot be written: {reason}") from None
