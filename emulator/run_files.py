"""Open the files that a run writes: its events as Parquet, its offsets log as segments.

Both are opened before the run, so that no run is played if its result cannot be written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

from emulator.errors import RefusedError, reason_of
from emulator.events.parquet import SHARED_ASSIGNORS, EventFile
from emulator.output_files import beside, written_beside
from emulator.scenario.model import Scenario
from emulator.scenario.writing import manifest

PARQUET_MAGIC = b"PAR1"


def open_events(
    path: Path, scenario: Scenario, seed: int, shared_assignors: Collection[str]
) -> EventFile:
    """Open a Parquet file for the events of a run; raise RefusedError if it cannot be written.

    *shared_assignors*: names of assignors that intentionally assign a partition to several members.
    """
    about = {**manifest(scenario), SHARED_ASSIGNORS: sorted(shared_assignors)}
    metadata = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in about.items()
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
    objection = _objection(path, ".parquet", "the name of a Parquet file ends in .parquet")
    if objection or not path.exists() or _beginning(path, len(PARQUET_MAGIC)) == PARQUET_MAGIC:
        return objection
    return "a file of that name exists and is not Parquet; take another name"


def _objection(path: Path, suffix: str, wrong_suffix: str) -> str | None:
    """Return why no file can be written there, whatever a file of that name holds."""
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.suffix != suffix:
        return wrong_suffix
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if path.exists() and not path.is_file():
        return "it is a device or a pipe, not a file"
    return None


def _beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as existing:
        return existing.read(size)


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


def text_objection(path: Path, suffix: str, mark: bytes) -> str | None:
    """Return why a text file must not be written there; files of the user are never replaced.

    *mark*: what the first kilobyte of a file holds that the program wrote and may replace.
    """
    objection = _objection(path, suffix, f"the name of this file ends in {suffix}")
    if objection or not path.exists() or mark in _beginning(path, 1_024):
        return objection
    return "a file of that name exists and is of another origin; take another name"


def refuse_text(option: str, path: Path, suffix: str, mark: bytes) -> None:
    """Raise RefusedError if a text file must not or cannot be written there."""
    try:
        reason = text_objection(path, suffix, mark)
        if reason is None:
            beside(path).touch()
            beside(path).unlink()
            return
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"{option}: {path}: cannot be written: {reason}")


def write_text(option: str, path: Path, pieces: Iterable[str]) -> None:
    """Write a text file; it is complete or unchanged. Raise RefusedError if that fails."""
    try:
        with written_beside(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
    except OSError as error:
        raise RefusedError(f"{option}: {path}: cannot be written: {reason_of(error)}") from None


PAGE_MARK = b'content="rebalance-emulator"'
"""Near the beginning of each page of ours."""


def check_page(path: Path) -> None:
    """Raise RefusedError if a page must not or cannot be written there."""
    refuse_text("--html", path, ".html", PAGE_MARK)
