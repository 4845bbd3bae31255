"""Refuse the files of a captured run where logs of a real cluster are expected."""

from __future__ import annotations

import json
import zlib
from gzip import GzipFile
from pathlib import Path
from typing import Final

from emulator.input_files import object_in
from emulator.logs.errors import AuditError

_LONGEST_START: Final = 1 << 16
"""Bytes of a trace that hold its first line, which has the configuration of the member."""


def refuse_captured_run(path: Path) -> None:
    """Raise AuditError for a captured run, a folder of such runs, or the trace of a member."""
    run = next((each for each in (path, path.parent) if _is_run(each)), None)
    if run is None and not _has_runs(path) and not _is_trace(path):
        return
    what = "a file of a captured run" if path.is_file() else "captured runs"
    folder = run or (path if path.is_dir() else "FOLDER_OF_THE_RUN")
    raise AuditError(
        f"{path}: {what}, no processing log; to compare with the emulator: rebalance verify {folder}"
    )


def _is_run(folder: Path) -> bool:
    return {"scenario", "run", "group"} <= object_in(folder / "meta.json").keys()


def _has_runs(folder: Path) -> bool:
    return any(_is_run(run) for runs in ("run-*", "*/run-*") for run in folder.glob(runs))


def _is_trace(path: Path) -> bool:
    """Return whether a file is the trace of a member: it begins with the start of its process."""
    if not path.is_file():  # reading a pipe would take its first line
        return False
    try:
        with path.open("rb") as opened:
            packed = path.name.lower().endswith(".gz")
            first = (GzipFile(fileobj=opened) if packed else opened).readline(_LONGEST_START)
        entry = json.loads(first)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.get("e") == "started" and "conf" in entry
