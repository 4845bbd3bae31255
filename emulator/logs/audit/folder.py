"""The folder of an audit: whole, or not there at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.output_files import beside

MANIFEST: Final = "manifest.json"
DOCUMENT: Final = "audit.json"
COMPRESSION: Final = "zstd"


def objection(folder: Path) -> str | None:
    """Say why an audit must not be written there: what is there may be dear to somebody."""
    if folder.is_symlink():
        return "it is a link; name a folder that is not there yet"
    if not folder.exists():
        return None if folder.parent.is_dir() else f"there is no folder {folder.parent}"
    if not folder.is_dir():
        return "it is there and no folder; name one that is not there yet"
    if any(folder.iterdir()) and not _is_audit(folder):
        return "it holds something else than an audit; take another folder"
    return None


def _is_audit(folder: Path) -> bool:
    try:
        there = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(there, dict) and "audit" in there


def write(
    folder: Path, tables: dict[str, pa.Table], document: dict[str, Any], manifest: dict[str, Any]
) -> None:
    """Write the folder; an earlier audit there gives way when all is written.

    Raise OSError if it cannot be written; then what was there is there still, and nothing else.
    """
    part = beside(folder)
    try:
        part.mkdir()
        for name, table in tables.items():
            _write_table(part / f"{name}.parquet", table, manifest)
        (part / DOCUMENT).write_text(json.dumps(document) + "\n", encoding="utf-8")
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        _give_name(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_table(path: Path, table: pa.Table, manifest: dict[str, Any]) -> None:
    metadata = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in manifest.items()
    }
    schema = table.schema.with_metadata(metadata)
    with path.open("wb") as file, pq.ParquetWriter(file, schema, compression=COMPRESSION) as out:
        out.write_table(table.cast(schema))


def _give_name(part: Path, folder: Path) -> None:
    if not folder.exists():
        part.rename(folder)
        return
    old = beside(folder.with_name(f"{folder.name}.old"))
    folder.rename(old)
    try:
        part.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
