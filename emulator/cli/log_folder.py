"""The folder of ``--write-log``: made before the run, so that a run is not played for nothing."""

from __future__ import annotations

from pathlib import Path

from emulator.errors import RefusedError, reason_of
from emulator.logs.offsets_log.writing import LogFolder


def open_log_folder(path: Path) -> LogFolder:
    """Begin a folder for the offsets log of a run; raise RefusedError if that cannot be."""
    try:
        reason = _objection(path)
        if reason is None:
            return LogFolder(path)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise RefusedError(f"--write-log: {path}: cannot be written: {reason}")


def _objection(path: Path) -> str | None:
    """Say why a folder of that name must not be made: what is there may be dear to somebody."""
    if path.is_symlink():
        return "it is a link; name a folder that is not there yet"
    if path.is_dir():
        if any(path.iterdir()):
            return "the folder is not empty; name one that is, or that is not there yet"
        return None if path.name else "it has no name of its own; name a folder in it"
    if path.exists():
        return "it is there and no folder; name one that is not there yet"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return None
