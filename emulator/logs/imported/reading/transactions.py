"""What became of the transactions in which offsets were committed.

A transaction of a producer ends with its next marker in that log partition; a producer has one
transaction at a time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from emulator.logs.imported.tables import ABORTED, COMMITTED, PENDING

_WORDS: Final = pa.array([ABORTED, COMMITTED, PENDING])
_PENDING: Final = 2

Numbers = npt.NDArray[np.int64]


class Markers(NamedTuple):
    """The ends of one log partition's transactions, in order of producers and of log offsets.

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
        """Return the least pair of each producer at or behind an offset."""
        producers = np.searchsorted(self.producer_ids, producer_ids)
        return producers * (len(self.log_offsets) + 1) + np.searchsorted(
            self.log_offsets, log_offsets
        )


def in_order(markers: pa.Table) -> Markers:
    """Return markers, rows of ``beside.MARKERS``, so that they can be looked up."""
    producer_ids = markers.column("producer_id").to_numpy()
    log_offsets = markers.column("log_offset").to_numpy()
    are_committed = markers.column("is_committed").to_numpy()
    nothing = np.array([], np.int64)
    known = Markers(np.unique(producer_ids), np.unique(log_offsets), nothing, are_committed)
    pairs = known.pairs_from(producer_ids, log_offsets)
    order = np.argsort(pairs)
    return known._replace(pairs=pairs[order], are_committed=are_committed[order])


def outcomes(rows: pa.RecordBatch, markers: Markers) -> pa.Array:
    """Return ``transaction`` of commits that were made in transactions."""
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
