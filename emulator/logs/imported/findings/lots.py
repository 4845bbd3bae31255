"""Rows of an import by lots of groups: gone through once, however many lots there are.

Where there are few lots, each goes through the tables by itself. Where there are many, that would
take time with the square of the rows: then the rows of each lot are put into a file of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

MOST_PASSES: Final = 4
"""So often the tables are gone through before files are written."""

_PREFIX: Final = ".lots-"
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")

Lot = Sequence[str]
"""Groups that are looked at together."""

RowsOfLot = Callable[[int], ds.Dataset]
"""Gives rows among which are all of a lot, by its number."""


@contextmanager
def by_lot(
    rows: ds.Dataset, columns: Sequence[str], lots: Sequence[Lot], folder: Path
) -> Iterator[RowsOfLot]:
    """Give what gives the rows of each lot; files that are needed for it stand in *folder*.

    Raise OSError if there is no room for them; at the end of the block they are gone.
    """
    if len(lots) <= MOST_PASSES:
        yield lambda _: rows
        return
    with TemporaryDirectory(prefix=_PREFIX, dir=folder) as name:
        paths = [Path(name) / f"{number}.arrow" for number in range(len(lots))]
        _spread(rows, columns, lots, paths)
        yield lambda number: ds.dataset(paths[number], format="ipc")


def clear(folder: Path) -> None:
    """Remove what somebody left who was interrupted."""
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left)


def _spread(
    rows: ds.Dataset, columns: Sequence[str], lots: Sequence[Lot], paths: Sequence[Path]
) -> None:
    """Write the rows of each lot into a file."""
    groups = pa.array([group for lot in lots for group in lot], pa.string())
    lot_of = np.repeat(np.arange(len(lots)), [len(lot) for lot in lots])
    schema = pa.schema([rows.schema.field(name) for name in columns])
    with ExitStack() as stack:
        files = [
            stack.enter_context(pa.ipc.new_file(path, schema, options=_OPTIONS)) for path in paths
        ]
        for batch in rows.to_batches(
            columns=list(columns), batch_readahead=1, fragment_readahead=1
        ):
            mine = lot_of[pc.index_in(batch.column("group"), groups).to_numpy()]
            order = np.argsort(mine, kind="stable")
            ordered, numbers = batch.take(pa.array(order)), mine[order]
            first = np.flatnonzero(np.diff(numbers, prepend=-1))
            for start, end in zip(first, [*first[1:], len(numbers)], strict=True):
                files[numbers[start]].write_batch(ordered.slice(start, end - start))
