"""Faults planted in the skipping of periods of clients that work in the background."""

from __future__ import annotations

from .planted_faults import Planted

STATE = "protocols.consumer.classic.periods"
CLIENT = "protocols.consumer.kip848.periods:Recurring"
STORE = "protocols.consumer.offset_store:OffsetStore"

PLANTED = (
    Planted(f"{STORE}.move", "known[tp] += records.get(tp, 0)", "pass", "a rebalance"),
    Planted(f"{STATE}:Recurring.move", "self.consumer.store.move(records)", "pass", "a rebalance"),
    Planted(
        f"{CLIENT}.move",
        "self.consumer.store.move(records)",
        "pass",
        "a rebalance of the consumer protocol",
    ),
    Planted(
        f"{CLIENT}.move",
        "self.consumer.fetcher.move(later_us, records)",
        "pass",
        "the consumer protocol, automatic commits",
    ),
)
