"""The folder of an import, whose files are complete or absent, and the outcome of transactions.

=====================================  =========================================================
``manifest.json``                      sources, selection, counts, versions
``commits/00012-….parquet``            a piece's commits, in the order of the log
``commits/00012-transactions.parquet`` those of transactions, of all pieces of a log partition
``groups/00012-….parquet``             its records about groups
``gaps/00012-….parquet``               its unreadable parts
=====================================  =========================================================

It is written as ``.DIR.part`` and renamed when it is complete. Complete files in it are reused by
the next import with the same plan. It contains no time and no user name of the import: the same
sources give the same bytes. A transaction of a producer ends with its next marker in that log
partition; a producer has one transaction at a time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import emulator
from assignors.values import dataclass
from emulator.logs.errors import OtherFolderError
from emulator.logs.imports.pieces import Piece, Selection
from emulator.logs.imports.tables import (
    ABORTED,
    COMMITTED,
    GAPS,
    GROUPS,
    MARKERS,
    OF_TRANSACTIONS,
    PENDING,
    WRITTEN,
    Rows,
    with_outcome,
)
from emulator.output_files import LOCK, delete_temporary, only_writer, put
from emulator.parquet_file import ParquetOutput
from emulator.versions import KAFKA, SCHEMA_VERSION

MANIFEST: Final = "manifest.json"
PLAN: Final = "plan.json"
WORK: Final = "work"
"""The folder of temporary files, deleted at the end: the plan, receipts, markers."""

_SCHEMAS: Final = {"commits": WRITTEN, "groups": GROUPS, "gaps": GAPS}
_ON_THE_WAY: Final = {OF_TRANSACTIONS: WRITTEN, "markers": MARKERS}
_METADATA: Final = {"schema_version": str(SCHEMA_VERSION), "kafka": KAFKA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of reading one piece."""

    name: str
    key: str
    log_partition: int
    size: int
    rows: Mapping[str, int]
    """Number of rows by table; ``of_transactions`` and ``markers`` included."""

    transactions: Mapping[str, int]
    """Number of commits by value of ``transaction``, where it is known at once."""

    groups: tuple[str, ...]
    """Ids of the groups with rows, sorted."""

    times_ms: tuple[int, int] | None
    """Times of its first and last row, epoch ms; None: there are no rows."""

    unknown_parts: int
    """Number of rows whose records have more fields than the columns: headers, newer fields."""


# -- the folder ----------------------------------------------------------------------------------


def part_of(folder: Path) -> Path:
    """Return the path of the folder while it is written."""
    whole = folder.resolve()
    return whole.with_name(f".{whole.name}.part")


@contextmanager
def writing(folder: Path, plan: Mapping[str, Any]) -> Iterator[None]:
    """Create the temporary folder, or reuse an existing one with the same plan; hold its lock.

    Raise OtherFolderError if the target folder is not empty, FolderInUseError if another process
    writes to it, OSError if it cannot be created.
    """
    part = part_of(folder)
    part.parent.mkdir(parents=True, exist_ok=True)
    with only_writer(folder, part.with_name(f".{folder.resolve().name}{LOCK}")):
        _begin(folder, plan)
        yield


def _begin(folder: Path, plan: Mapping[str, Any]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        content = "an import" if (folder / MANIFEST).is_file() else "other files"
        raise OtherFolderError(f"it already contains {content}")
    part = part_of(folder)
    text = json.dumps(plan, indent=1) + "\n"
    there = part / WORK / PLAN
    if part.exists() and not (there.is_file() and there.read_text(encoding="utf-8") == text):
        shutil.rmtree(part)
    (part / WORK).mkdir(parents=True, exist_ok=True)
    put(there, text.encode())


def finish(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Complete and rename the folder; raise OSError if that is not possible."""
    part = part_of(folder)
    for table, schema in _SCHEMAS.items():
        if not any((part / table).glob("*.parquet")):
            (part / table).mkdir(parents=True, exist_ok=True)
            with _file(part / table / "nothing.parquet", schema):
                pass
    for place in (part, *(path for path in part.iterdir() if path.is_dir())):
        delete_temporary(place)
    put(part / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
    shutil.rmtree(part / WORK)
    if folder.exists():
        folder.rmdir()
    part.rename(folder)


# -- one piece -----------------------------------------------------------------------------------


def receipt_of(part: Path, name: str, key: str) -> Receipt | None:
    """Return the receipt of a piece; None if there is none, or it is for other bytes."""
    try:
        known = json.loads(_receipt_path(part, name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if known["key"] != key:
        return None
    times = known["times_ms"]
    groups = tuple(known["groups"])
    return Receipt(**{**known, "groups": groups, "times_ms": tuple(times) if times else None})


def keep_receipt(part: Path, receipt: Receipt) -> None:
    """Write the receipt of a complete piece, as the last step."""
    path = _receipt_path(part, receipt.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, json.dumps(asdict(receipt)).encode())


def write_rows(part: Path, name: str, rows: Iterator[Rows]) -> dict[str, int]:
    """Write the rows of a piece into the tables' files; return the number of rows of each.

    Raise OSError if the disk is full; then none of the files gets its final name.
    """
    counts = dict.fromkeys([*_SCHEMAS, *_ON_THE_WAY], 0)
    for table in counts:
        _path(part, table, name).unlink(missing_ok=True)
    with ExitStack() as stack:
        files = dict[str, ParquetOutput]()
        for table, batch in rows:
            if table not in files:
                schema = _SCHEMAS.get(table) or _ON_THE_WAY[table]
                files[table] = stack.enter_context(_file(_path(part, table, name), schema))
            files[table].write(batch)
            counts[table] += batch.num_rows
    return counts


def _path(part: Path, table: str, name: str) -> Path:
    folder = part / table if table in _SCHEMAS else part / WORK / table
    return folder / f"{name}.parquet"


def _receipt_path(part: Path, name: str) -> Path:
    return part / WORK / "receipts" / f"{name}.json"


def _file(path: Path, schema: pa.Schema) -> ParquetOutput:
    """Open a file of rows; readers get plain text instead of dictionaries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return ParquetOutput(path, schema, _METADATA, store_schema=False)


# -- transactions --------------------------------------------------------------------------------


def decide_transactions(part: Path, log: str) -> dict[str, int]:
    """Write a log partition's commits of transactions, and return their number by outcome.

    *log*: the prefix of its files. All its pieces must have been written.
    """
    counts = dict[str, int]()
    pieces = sorted((part / WORK / OF_TRANSACTIONS).glob(f"{log}-*.parquet"))
    if not pieces:
        return counts
    ends = sorted((part / WORK / "markers").glob(f"{log}-*.parquet"))
    tables = [pq.ParquetFile(path).read() for path in ends] or [MARKERS.empty_table()]
    markers = in_order(pa.concat_tables(tables))
    with _file(_path(part, "commits", f"{log}-transactions"), WRITTEN) as file:
        for path in pieces:
            for batch in _dictionary_encoded(path):
                ended = outcomes(batch, markers)
                for each in ended.value_counts().to_pylist():
                    counts[each["values"]] = counts.get(each["values"], 0) + each["counts"]
                file.write(with_outcome(batch, ended))
    return counts


def _dictionary_encoded(path: Path) -> Iterator[pa.RecordBatch]:
    texts = [field.name for field in WRITTEN if pa.types.is_dictionary(field.type)]
    for batch in pq.ParquetFile(path, read_dictionary=texts).iter_batches():
        yield pa.RecordBatch.from_arrays(batch.columns, schema=WRITTEN)


TABLES = ("commits", "groups", "gaps")


def plan_of(
    sources: Sequence[str], pieces: Iterable[Piece], selection: Selection
) -> dict[str, Any]:
    """Return the values that determine the rows of an import."""
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


_WORDS: Final = pa.array([ABORTED, COMMITTED, PENDING])
_PENDING: Final = 2

Numbers = npt.NDArray[np.int64]


class Markers(NamedTuple):
    """The ends of one log partition's transactions, sorted by producer and log offset.

    A pair of those two is one number: the producer's place times the number of different
    offsets and one more, and the offset's place. So all can be looked up at once.
    """

    producer_ids: Numbers
    """All of them once, sorted."""

    log_offsets: Numbers
    """All of them once, sorted."""

    pairs: Numbers
    """Sorted."""

    are_committed: npt.NDArray[np.bool_]
    """For each of the pairs."""

    def pairs_from(self, producer_ids: Numbers, log_offsets: Numbers) -> Numbers:
        """Return the smallest pair of each producer at or after an offset."""
        producers = np.searchsorted(self.producer_ids, producer_ids)
        return producers * (len(self.log_offsets) + 1) + np.searchsorted(
            self.log_offsets, log_offsets
        )


def in_order(markers: pa.Table) -> Markers:
    """Return markers in sorted order, for look-ups."""
    producer_ids = markers.column("producer_id").to_numpy()
    log_offsets = markers.column("log_offset").to_numpy()
    are_committed = markers.column("is_committed").to_numpy()
    nothing = np.array([], np.int64)
    known = Markers(np.unique(producer_ids), np.unique(log_offsets), nothing, are_committed)
    pairs = known.pairs_from(producer_ids, log_offsets)
    order = np.argsort(pairs)
    return known._replace(pairs=pairs[order], are_committed=are_committed[order])


def outcomes(rows: pa.RecordBatch, markers: Markers) -> pa.Array:
    """Return the value of ``transaction`` for commits in transactions."""
    producer_ids = rows.column("producer_id").to_numpy()
    log_offsets = rows.column("log_offset").to_numpy()
    codes = np.full(len(producer_ids), _PENDING, np.int8)
    pairs = markers.pairs_from(producer_ids, log_offsets)
    next_ones = np.searchsorted(markers.pairs, pairs)
    last = pairs - pairs % (len(markers.log_offsets) + 1) + len(markers.log_offsets)
    there = next_ones < len(markers.pairs)
    there[there] = markers.pairs[next_ones[there]] <= last[there]
    known = np.isin(producer_ids, markers.producer_ids)
    decided = there & known
    codes[decided] = markers.are_committed[next_ones[decided]]
    return _WORDS.take(pa.array(codes))
