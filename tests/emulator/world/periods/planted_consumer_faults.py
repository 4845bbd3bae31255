"""Faults planted in the skipping of periods of the consumer protocol, which tests have to notice."""

from __future__ import annotations

from .planted_faults import Planted

STATE = "protocols.consumer.kip848.periods"
CLIENT = f"{STATE}:Recurring"

PLANTED = (
    Planted(f"{STATE}:moved_state", "commit_us += later_us", "pass", "automatic commits"),
    Planted(f"{STATE}:moved_state", "+ numbers.more", "", "automatic commits"),
    Planted(
        f"{STATE}:moved_state",
        "state.poll_due_us + later_us",
        "state.poll_due_us",
        "a short poll interval",
    ),
    Planted(
        f"{STATE}:moved_state",
        "beat=_moved_beat(state.beat, later_us)",
        "beat=state.beat",
        "a crash",
    ),
    Planted(
        f"{STATE}:moved_state",
        "_moved_app(state.app, later_us, records",
        "_moved_app(state.app, 0, records",
        31,
    ),
    Planted(
        f"{STATE}:moved_state",
        "app=_moved_app(state.app, later_us, records, numbers.open)",
        "app=state.app",
        "commits in flight",
    ),
    Planted(
        f"{STATE}:moved_state",
        "in_flight=_moved_requests(state, later_us, records, numbers.open)",
        "in_flight=state.in_flight",
        "commits in flight",
    ),
    Planted(
        f"{STATE}:moved_state",
        "events=_moved_events(state.events, later_us, records, numbers.open)",
        "events=state.events",
        "events that wait for a slow thread",
    ),
    Planted(
        f"{STATE}:moved_state",
        "else state.events_us + later_us",
        "else state.events_us",
        "events that wait for a slow thread",
    ),
    Planted(
        f"{CLIENT}.move", "self.consumer.fetcher.move(later_us, records)", "", "automatic commits"
    ),
    Planted(
        "emulator.world.consumer.polling.fetches:Fetches._all_of",
        "if fetch is not None:",
        "if False:",
        "automatic commits",
    ),
    Planted(
        "protocols.groups.kip848.heartbeat:recurs",
        "group.epoch == group.target_epoch and ",
        "",
        "a target that waits for its interval",
    ),
)
