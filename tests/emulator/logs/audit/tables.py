"""Tables of commits as an import has them."""

from __future__ import annotations

import pyarrow as pa

from .logs import EPOCH


def rows(*commits: tuple[str, int, int | None, int], transaction: str | None = None) -> pa.Table:
    """Return commits (group, partition, offset or None, second) as an import has them."""
    return pa.table(
        {
            "group": [group for group, *_ in commits],
            "topic": ["orders"] * len(commits),
            "partition": pa.array([partition for _, partition, *_ in commits], pa.int32()),
            "is_tombstone": [offset is None for _, _, offset, _ in commits],
            "offset": pa.array([offset for _, _, offset, _ in commits], pa.int64()),
            "timestamp": [EPOCH // 1000 + at * 1000 for *_, at in commits],
            "transaction": pa.array([transaction] * len(commits), pa.string()),
        }
    )
