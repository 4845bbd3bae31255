"""Faults planted in the heartbeats and commits of members that poll by arithmetic."""

from __future__ import annotations

from ..world.periods.planted_faults import Planted

EXCHANGES = "emulator.world.consumer.polling.exchanges"
ITS = f"{EXCHANGES}:Exchanges"
CLIENT = "protocols.consumer.classic.machine:Client"

PLANTED = (
    Planted(f"{ITS}.goes_on", "loop.next_arrival_us <= now", "False", 13),
    Planted(f"{ITS}.goes_on", "self._process.timers.set(POLL, calm.wait_us)", "pass", 1),
    Planted(f"{ITS}.goes_on", "self._beats(now) and ", "", 5),
    Planted(f"{ITS}._polls", "self._loop.play(now)", "pass", 4),
    Planted(f"{ITS}._polls", "self._loop.leave_batch()", "pass", 4),
    Planted(f"{ITS}.enter", "loop.calm.enter(now, process.blueprint.poll_timeout_us)", "pass", 1),
    Planted(f"{CLIENT}.enter", "not fetcher.returns_records", "True", 4),
    Planted(f"{ITS}._beats", "self._process.timers.deadline(HEARTBEAT) == now and ", "", 5),
    Planted(f"{ITS}.receive", "self._loop.play(now)", "pass", 13),
    Planted(f"{ITS}.receive", "self._loop.play(now)", "self._loop.play(now, ALL)", 22),
    Planted(
        f"{EXCHANGES}:first_not_passed", "reached <= Rank.RECORDS_AT_CLIENT + index", "True", 22
    ),
    Planted(f"{ITS}._lend", "loop.go_on(due_us)", "pass", 1),
    Planted(f"{ITS}.beat", "timer != HEARTBEAT or ", "", 5),
    Planted(f"{ITS}._is_beaten", "body.error or ", "", 19),
    Planted(f"{ITS}.played", "max(clock.polled_us, self._ran_us)", "self._ran_us", 1),
    Planted(f"{EXCHANGES}:_is_poll", " and effect.name == POLL", "", 1),
    Planted(f"{CLIENT}.lent", "self._poll_until = None", "pass", 3),
    Planted(f"{CLIENT}.lent", "not self._settled or ", "", 22),
    Planted(
        "emulator.world.periods.upkeep:Habit.meets",
        ", handled_us % self.period_us",
        "",
        411,
    ),
    Planted(
        "protocols.consumer.classic.calm:CalmPoll.go_on",
        "min(self.until_us, due_us)",
        "self.until_us",
        1,
    ),
)

LOOP = "emulator.world.consumer.polling.poll_loop:PollLoop"
BY_TIME = (
    Planted(f"{LOOP}.go_on", "self._commits_from_us <= due_us", "False", 0),
    Planted(f"{LOOP}._is_due", "commits or ", "", 0),
    Planted(
        "emulator.world.consumer.handling.handler:Unreported.write",
        "uncommitted[tp] = following",
        "pass",
        0,
    ),
    Planted(
        "emulator.world.consumer.policy:PolicyCommits.due_us",
        "self._last_us + every",
        "self._last_us + every + 1",
        3,
    ),
    Planted(f"{LOOP}._fold", "self._commits_from_us = self._app.commits.due_us", "pass", 0),
    Planted(f"{LOOP}.go_on", "self._commits_from_us, False", "self._commits_from_us, True", 49),
    Planted("emulator.world.consumer.policy:PolicyCommits.due", "self._last_us = now", "pass", 0),
)
"""Faults in the polls of applications that commit by time."""

LAP = "emulator.world.consumer.polling.laps:Lap"
CYCLES = "emulator.world.consumer.polling.calm:Cycles"
IN_LAPS = (
    Planted(
        f"{EXCHANGES}:first_not_passed",
        "WORK if reached <= Rank.APPLICATION + index else ALL",
        "WORK",
        5002641,
    ),
    Planted(f"{LAP}.fetches", " + behind", "", 2002),
    Planted(f"{LAP}._first", "found.setdefault(tp, later_us)", "found[tp] = later_us", 2002),
    Planted(f"{LAP}.skip", "most_us, self._cycle", "most_us + 1, self._cycle", 2022),
    Planted(f"{CYCLES}._go_fetches", "fetches.count(lap.fetches(skip))", "pass", 2002),
    Planted(
        f"{CYCLES}._go_fetches", "not fetches.comes_to(saved, at_us, positions)", "False", 2023
    ),
    Planted(
        f"{CYCLES}._take_noted",
        "elif self._lap is not None and not self._lap.is_noted:",
        "elif False:",
        2014,
    ),
)
"""Faults in periods of several batches. One in a length or in a number of records does not show: then other
records would come, and nothing is skipped."""
