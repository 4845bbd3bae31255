"""The output of an audit: one JSON document, and a folder that is complete or absent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

import emulator
from emulator.input_files import object_in
from emulator.logs.audit.ledger import TOTALS, AuditLedger, entries_table, partitions_table
from emulator.output_files import LOCK, beside, delete_temporary, only_writer
from emulator.parquet_file import ParquetOutput
from emulator.versions import KAFKA, SCHEMA_VERSION

if TYPE_CHECKING:
    from emulator.metrics.checks import Expected

Asked = dict[str, Any]
"""The user's options by their names, as JSON values."""


def audit_document(
    asked: Asked, ledger: AuditLedger, expectations: Sequence[Expected]
) -> dict[str, Any]:
    """Return the document that ``audit --json`` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "audit": asked,
        "group": ledger.group,
        "rows": ledger.rows,
        "late": ledger.late,
        **{name: ledger.total(name) for name in TOTALS},
        "by_cause": ledger.by_cause(),
        "by_owners": ledger.by_owners(),
        "ledger": entries_table(ledger).to_pylist(),
        "partitions": partitions_table(ledger).to_pylist(),
        "expectations": [asdict(expected) for expected in expectations],
    }


def manifest(asked: Asked, ledger: AuditLedger) -> dict[str, Any]:
    """Return the manifest of an audit's folder."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "version": emulator.__version__,
        "audit": asked,
        "rows": ledger.rows,
        "late": ledger.late,
        **{name: ledger.total(name) for name in TOTALS},
    }


MANIFEST: Final = "manifest.json"
DOCUMENT: Final = "audit.json"


def objection(folder: Path) -> str | None:
    """Return why an audit must not be written there: other content may belong to the user."""
    if folder.is_symlink():
        return "it is a symbolic link; give a folder that does not exist yet"
    if not folder.exists():
        return None if folder.parent.is_dir() else f"there is no folder {folder.parent}"
    if not folder.is_dir():
        return "it exists and is not a folder; give a folder that does not exist yet"
    if any(folder.iterdir()) and not _is_audit(folder):
        return "it contains other files than those of an audit; give another folder"
    return None


def _is_audit(folder: Path) -> bool:
    return "audit" in object_in(folder / MANIFEST)


def write(
    folder: Path, tables: dict[str, pa.Table], document: dict[str, Any], manifest: dict[str, Any]
) -> None:
    """Write the folder; replace an earlier audit in it after all files are written.

    Raise OSError if it cannot be written, FolderInUseError if another process is writing to it;
    then the earlier content is unchanged.
    """
    with only_writer(folder, folder.with_name(f".{folder.name}{LOCK}")):
        for name in (folder.name, f"{folder.name}.old"):
            delete_temporary(folder.parent, name)
        _write(folder, tables, document, manifest)


def _write(
    folder: Path, tables: dict[str, pa.Table], document: dict[str, Any], manifest: dict[str, Any]
) -> None:
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
    with ParquetOutput(path, table.schema, metadata) as output:
        output.write(table)


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
