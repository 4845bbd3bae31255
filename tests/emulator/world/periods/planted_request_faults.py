"""Faults planted in the moving of requests in flight, each of which some test has to notice."""

from __future__ import annotations

from .planted_faults import PERIODS, WORLD, Planted

PLANTED = (
    Planted(
        "protocols.coordinator.durability:Durability.skip",
        "self.high_watermark += more",
        "self.high_watermark = log_end",
        "commits that wait for the log",
    ),
    Planted(
        "protocols.coordinator.durability:Durability.skip",
        "deferred.below + more",
        "deferred.below",
        "commits that wait for the log",
    ),
    Planted(
        "protocols.coordinator.durability:Durability.move",
        "to=renumbered(deferred.waiting.to)",
        "to=deferred.waiting.to",
        "commits that wait for the log",
    ),
    Planted(
        f"{WORLD}.cluster.offsets_log.leader_log:LeaderLog.skip",
        "each.end += end - before",
        "pass",
        "commits that wait for the log",
    ),
    Planted(
        f"{WORLD}.cluster.offsets_log.leader_log:LeaderLog.skip",
        "self.high_watermark += end - before",
        "self.high_watermark = end",
        "commits that wait for the log",
    ),
    Planted(
        f"{PERIODS}.in_flight:move",
        "moved_envelope(message.envelope, records,",
        "moved_envelope(message.envelope, {group: {} for group in records},",
        "commits in flight",
    ),
    Planted(
        f"{PERIODS}.in_flight:move",
        "message.envelope, records, renumbered",
        "message.envelope, records, lambda header: header",
        "commits in flight",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._renumbered",
        "number + more + upkeep",
        "number + more",
        "commits in flight beside metadata requests",
    ),
    Planted(
        "protocols.consumer.classic.periods:moved_state",
        "_moved_app(state.app, later_us, records, numbers.open)",
        "state.app",
        "commits in flight",
    ),
)
