"""The figures of one group, of a run with several."""

from __future__ import annotations

from assignors.values import dataclass
from emulator.events import Departure
from emulator.metrics.metrics import Metrics
from emulator.metrics.rebalances import reason_kind


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of one group."""

    rebalances: int
    reasons: frozenset[str]
    """The reasons of its rebalances."""

    joined: int
    """The members of all its rebalances, summed."""

    refused: int
    """Its commits that were refused."""

    rebalance_max_s: float
    """The longest time until it was stable again; of the only group, with the follow-ups of a rebalance."""

    removals: frozenset[str]
    """Why its members were removed after a timeout, or left by themselves."""

    unsynced: int
    """Its members that joined and sent no SyncGroup."""

    inherited: int
    """Its dead members whose session expired while other processes ran, to get their partitions."""

    living: int
    """Its members that were removed while their process ran."""

    downtime_max_s: float
    """The longest downtime of one of its partitions."""


def figures_of(metrics: Metrics, group: str) -> GroupFigures:
    """Return the figures of one group."""
    rounds, evictions, drop_outs = (
        [row for row in metrics.listings[name] if row["group"] == group]
        for name in ("rebalances", "evictions", "drop_outs")
    )
    removed = [row["reason"] for row in evictions]
    lasted = [
        each["stable_s"] - each["started_s"] for each in rounds if each["stable_s"] is not None
    ]
    is_only = len(rounds) == metrics["rebalances"]
    return GroupFigures(
        rebalances=len(rounds),
        reasons=frozenset(reason_kind(row["reason"]) for row in rounds),
        joined=sum(row["members"] for row in rounds),
        refused=int(metrics.tables["commits_refused.by_group"].get(group, 0)),
        rebalance_max_s=metrics["time_to_stable_max_s"] if is_only else max(lasted, default=0.0),
        removals=frozenset([*removed, *(row["reason"] for row in drop_outs)]),
        unsynced=removed.count(Departure.DID_NOT_SYNC),
        inherited=sum(
            row["reason"] == Departure.EXPIRED and not row["living"] and row["heirs"] > 0
            for row in evictions
        ),
        living=sum(row["living"] for row in evictions),
        downtime_max_s=metrics[f"downtime_max.by_group[{group}]"],
    )
