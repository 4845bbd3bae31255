"""Where a coordinator is in its life.

Source: ``CoordinatorRuntime.CoordinatorState`` of Kafka 4.4.0 (spec classic-coordinator 4.3).
"""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """Whether the shard serves its groups."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    """Its log cannot be loaded: only a later leader may serve these groups."""

    UNLOADED = "unloaded"
