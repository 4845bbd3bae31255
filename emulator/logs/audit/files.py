"""The files of a processing log, and of which format each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.logs.audit.errors import AuditError

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "json": (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    "csv": (".csv", ".csv.gz"),
}
PACKED = ".gz"


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a processing log."""

    path: Path
    format: str
    """``parquet``, ``json`` or ``csv``."""

    @property
    def is_packed(self) -> bool:
        """Say whether it can be read from its beginning only."""
        return self.path.name.lower().endswith(PACKED)


def find_files(paths: Sequence[Path], format_: str | None = None) -> tuple[LogFile, ...]:
    """Return the files at some paths, folders searched through; *format_*: whatever their endings.

    Raise AuditError for a path that is missing or of no known kind.
    """
    found = list[LogFile]()
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if _is_data(each, path))
            files = [
                LogFile(each, format_ or kind) for each in inside if (kind := format_of(each.name))
            ]
            if not files:
                raise AuditError(f"{path}: no file in this folder ends in {_endings()}")
            found += files
        elif not path.exists():
            raise AuditError(f"{path}: no such file or folder")
        else:
            kind = format_ or format_of(path.name)
            if not kind:
                raise AuditError(
                    f"{path}: its name does not tell what it is; expected {_endings()}, or say "
                    "--format parquet, json or csv"
                )
            found.append(LogFile(path, kind))
    return tuple(found)


def _is_data(path: Path, below: Path) -> bool:
    parts = path.relative_to(below).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def format_of(name: str) -> str:
    """Return what a file is by the end of its name; empty where that does not tell."""
    lower = name.lower()
    return next((kind for kind, ends in ENDINGS.items() if lower.endswith(ends)), "")


def _endings() -> str:
    return ", ".join(end for ends in ENDINGS.values() for end in ends if not end.endswith(PACKED))
