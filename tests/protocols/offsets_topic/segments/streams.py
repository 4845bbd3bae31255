"""A small log as a stream, and how to read streams so that nothing is overlooked."""

from __future__ import annotations

import io
from itertools import pairwise

from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.reader import Gap, Limits, read_log
from protocols.offsets_topic.segments.resync import GapKind

from .drawn import commits

SMALL = Limits(batch_bytes=20_000, inflated_bytes=40_000)
LOG = [commits(["a", "b"], 0), commits(["-a", "c", "d"], 2), commits(["b"], 5), commits(["e"], 6)]
BYTES = b"".join(batch.data for batch in LOG)
STARTS = [sum(len(batch.data) for batch in LOG[:n]) for n in range(len(LOG) + 1)]


def span(found: object) -> tuple[int, int]:
    """Return where something found begins and ends."""
    if isinstance(found, Gap):
        return found.position, found.position + found.size
    batch = found if isinstance(found, Batch) else found.batch
    return batch.position, batch.position + len(batch.data)


def read(source: bytes, limits: Limits = SMALL) -> list:
    """Read a stream, as bytes and as a file, and see that every byte is accounted for once."""
    found = list(read_log(source, limits))
    spans = [span(each) for each in found]

    assert found == list(read_log(io.BytesIO(source), limits))
    assert all(start < end for start, end in spans)
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (0, len(source)) if source else not spans
    return found


def offsets(found: list) -> list[int]:
    """Return the log offsets of all records that were read."""
    return [record.offset for each in found if not isinstance(each, Gap) for record in each.records]


def gaps(found: list) -> list[tuple[GapKind, int, int]]:
    """Return the gaps: kind, position, size."""
    return [(each.kind, each.position, each.size) for each in found if isinstance(each, Gap)]


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


class OneByOne(io.BytesIO):
    """A source that gives less than it was asked for, as sockets and pipes do."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, 7))
