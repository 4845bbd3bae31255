"""What an import's folder says about itself, and by what an interrupted one is known again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import emulator
from emulator.logs.imported.reading.selection import Selection
from emulator.logs.imported.reading.work import Piece
from emulator.logs.imported.store import Receipt
from emulator.scenario.manifest import KAFKA, SCHEMA_VERSION

TABLES = ("commits", "groups", "gaps")


def plan_of(
    sources: Sequence[str], pieces: Iterable[Piece], selection: Selection
) -> dict[str, Any]:
    """Return what decides which rows come out."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": emulator.__version__,
        "sources": list(sources),
        "selection": _selected(selection),
        "pieces": [piece.key for piece in pieces],
    }


def import_manifest(
    sources: Sequence[str],
    selection: Selection,
    receipts: Sequence[Receipt],
    decided: Iterable[Mapping[str, int]],
    *,
    is_live: bool,
) -> dict[str, Any]:
    """Return the manifest; *decided*: how transactions ended, by log partition."""
    rows = {table: sum(each.rows[table] for each in receipts) for table in TABLES}
    rows["commits"] += sum(each.rows["of_transactions"] for each in receipts)
    transactions = dict[str, int]()
    for each in [*decided, *(receipt.transactions for receipt in receipts)]:
        for how, number in sorted(each.items()):
            transactions[how] = transactions.get(how, 0) + number
    times = [each.times_ms for each in receipts if each.times_ms is not None]
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "import",
        "kafka": KAFKA,
        "version": emulator.__version__,
        "is_live": is_live,
        "sources": list(sources),
        "selection": _selected(selection),
        "log_partitions": len({each.log_partition for each in receipts}),
        "groups": len({name for each in receipts for name in each.groups}),
        "times_ms": [min(t[0] for t in times), max(t[1] for t in times)] if times else None,
        "tables": rows,
        "transactions": {how: number for how, number in transactions.items() if number},
        "unknown_parts": sum(each.unknown_parts for each in receipts),
    }


def _selected(selection: Selection) -> dict[str, Any]:
    return {
        "groups": list(selection.groups),
        "from_ms": selection.begin_ms,
        "to_ms": selection.end_ms,
    }
