"""Which groups and which time are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows that are wanted; gaps are always, since nobody knows whose they are."""

    groups: tuple[str, ...] = ()
    """Patterns as a shell's, ``billing-*``, for names of groups; none: all groups."""

    begin_ms: int | None = None
    """Epoch ms of the first record; None: from the beginning."""

    end_ms: int | None = None
    """Epoch ms behind the last record; None: to the end."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.groups and self.begin_ms is None and self.end_ms is None

    def takes_group(self, group: str) -> bool:
        """Say whether a group is wanted."""
        return not self.groups or any(fnmatchcase(group, pattern) for pattern in self.groups)

    def takes(self, group: str, timestamp: int) -> bool:
        """Say whether a record is wanted."""
        late_enough = self.begin_ms is None or timestamp >= self.begin_ms
        early_enough = self.end_ms is None or timestamp < self.end_ms
        return late_enough and early_enough and self.takes_group(group)

    def of_commits(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the wanted commits of some; ``group`` is dictionary-encoded."""
        if self.is_everything:
            return batch
        groups = batch.column("group")
        wanted = np.array([self.takes_group(name) for name in groups.dictionary.to_pylist()])
        mask = wanted[groups.indices.to_numpy()]
        times = batch.column("timestamp").to_numpy()
        if self.begin_ms is not None:
            mask &= times >= self.begin_ms
        if self.end_ms is not None:
            mask &= times < self.end_ms
        return batch if mask.all() else batch.filter(pa.array(mask))
