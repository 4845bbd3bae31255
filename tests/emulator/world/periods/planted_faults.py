"""Faults that are planted in the skipping of periods, each of which some test has to notice."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NamedTuple

PERIODS = "emulator.world.periods"
WORLD = "emulator.world"
IN_FLIGHT = f"{WORLD}.consumer.polling.fetch_in_flight:FetchInFlight"
LOG = f"{WORLD}.cluster.offsets_log"


class Planted(NamedTuple):
    """A change of the source of one function."""

    function: str
    """``module:function`` or ``module:Class.method``."""

    right: str
    wrong: str
    noticed_in: str | int
    """A run in which it shows: its name, or the seed of a periodic world."""

    @property
    def name(self) -> str:
        """Its place, and what is missing or changed."""
        return f"{self.function.rpartition(':')[2]}: {self.right.strip()[:40]}"


BEHIND = "a period that begins before the first regular commit"

PLANTED = (
    Planted(
        f"{PERIODS}.beginnings:_begun_again",
        "first = position + new.first",
        "first = what.first",
        BEHIND,
    ),
    Planted(
        f"{PERIODS}.beginnings:_begun_again", "before.at_us + new.began_us", "what.began_us", BEHIND
    ),
    Planted(
        f"{PERIODS}.beginnings:commits_repeat",
        "type(event.what) is LagSampled",
        "False",
        "samples before the first regular commit",
    ),
    Planted(
        f"{PERIODS}.upkeep:Habit.handled_us",
        "next_us = self._next_wait_us(count)",
        "next_us = at_us",
        "metadata requests in skipped periods",
    ),
    Planted(
        f"{PERIODS}.upkeep:Habit.handled_us",
        "handled_us = min(turn_us, next_us)",
        "handled_us = next_us",
        "metadata requests answered just before heartbeats",
    ),
    Planted(
        f"{PERIODS}.thread_habit:ThreadHabit.handled_us",
        "None if bisect_right(self.waits, arrives_us % self.period_us) % 2 else arrives_us",
        "arrives_us",
        "metadata requests of a background thread",
    ),
    Planted(
        "protocols.consumer.kip848.threads:QueueTimes.begin",
        "self.times.append(now)",
        "pass",
        "metadata requests of a background thread",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._with_upkeep",
        "renumbered(what, more) if more else what",
        "what",
        "metadata requests in skipped periods",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._with_upkeep",
        "counted_more(what, METADATA_KIND, more) if more else what",
        "what",
        "metadata requests in skipped periods",
    ),
    Planted(
        f"{PERIODS}.upkeep:Upkeep.carry_out",
        "_refresh(client, found.handled_us[count - 1], count)",
        "_refresh(client, self._now, count)",
        "metadata with news",
    ),
    Planted(
        f"{PERIODS}.upkeep:Upkeep._next_harmless",
        "following if refresh.brings_nothing(state, consumer, answer, apply) else None",
        "following",
        "metadata with news",
    ),
    Planted(
        f"{PERIODS}.shift:_processed",
        "what.began_us + shift.later_us",
        "what.began_us",
        "automatic commits",
    ),
    Planted(f"{PERIODS}.shift:_processed", "what.first + more", "what.first", "automatic commits"),
    Planted(
        f"{PERIODS}.shift:_sent",
        "_moved_known(what.processed, more)",
        "what.processed",
        "automatic commits",
    ),
    Planted(f"{PERIODS}.shift:_moved_name", "+ shift.requests[process]", "", "automatic commits"),
    Planted(
        f"{PERIODS}.shift:_accepted",
        "what.high_watermark + appended",
        "what.high_watermark",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.shift:_appended", "what.log_size + size", "what.log_size", "automatic commits"
    ),
    Planted(
        f"{PERIODS}.shift:_counted",
        "what.since_us + shift.later_us",
        "what.since_us",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.shift:_sampled",
        "_moved_known(what.committed, more)",
        "what.committed",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.shift:_sampled",
        "log_end(tp, at_us)",
        "log_end(tp, at_us - 1)",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._write",
        "since.plus(period.adds, number)",
        "since.plus(period.adds, 1)",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.shift:moved_batch",
        "max_timestamp + later_ms",
        "max_timestamp",
        "automatic commits",
    ),
    Planted(
        f"{PERIODS}.shift:_moved_record",
        "commit_timestamp + later_ms",
        "commit_timestamp",
        "automatic commits",
    ),
    Planted(f"{PERIODS}.skip:Skip._append", "[times - 1, 1]", "[times]", "automatic commits"),
    Planted(
        f"{PERIODS}.skip:Skip._append", "is not None", "is Ellipsis", "the bytes of the offsets log"
    ),
    Planted(
        f"{LOG}.leader_log:LeaderLog.skip", "known + end - before", "known", "the bytes of segments"
    ),
    Planted(
        f"{LOG}.leader_log:LeaderLog.skip",
        "self.log.settle(self.end - kept)",
        "",
        "automatic commits",
    ),
    Planted(f"{LOG}.leader_log:LeaderLog.skip", "self._forgotten += end - before", "pass", 27),
    Planted(f"{LOG}.stored_log:StoredLog._count", "self.settle(self.end)", "", "automatic commits"),
    Planted(
        f"{LOG}.stored_log:StoredLog._count", "self.settled = self.end", "", "automatic commits"
    ),
    Planted(
        f"{LOG}.stored_log:StoredLog._count",
        "stored.records += skipped.records",
        "pass",
        "automatic commits",
    ),
    Planted(
        f"{WORLD}.cluster.hosts:Host.skip",
        "self.coordinator.skip(entries, self.log.end)",
        "",
        "automatic commits",
    ),
    Planted(
        "protocols.coordinator.durability:Durability.skip",
        "self.high_watermark += more",
        "pass",
        84,
    ),
    Planted(
        f"{PERIODS}.skip:Skip._find_times",
        "limit_us - 1 -",
        "limit_us -",
        "a crash at the end of a period",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._find_times",
        "room_for(size, end_ms) - 1",
        "room_for(size, 0)",
        "a segment that is old",
    ),
    Planted(f"{PERIODS}.skip:Skip._find_times", "not self._repeats(adds, times)", "False", 123),
    Planted(
        f"{PERIODS}.state:first_limit_us",
        "if name not in names and",
        "if False and",
        "a static member that does not return",
    ),
    Planted(f"{PERIODS}.search:Periods._off_grid", "% self._grid_us", "% 1_000", 300),
    Planted(f"{PERIODS}.state:_is_undisturbed", "run.triggers.idle and ", "", "a crash at a step"),
    Planted(
        f"{PERIODS}.state:_is_undisturbed",
        "world.router.is_undisturbed and ",
        "",
        "a delayed heartbeat",
    ),
    Planted(
        f"{WORLD}.kernel:Deadlines.move",
        "(self._due, self._queued)",
        "(self._queued,)",
        "a static member that does not return",
    ),
    Planted(
        f"{WORLD}.kernel:Deadlines.move",
        "[when + later_us for when in self._pushed]",
        "list(self._pushed)",
        "metadata with news",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._move",
        "timers.move(adds.later_us, names)",
        "pass",
        "metadata requests in skipped periods",
    ),
    Planted(
        f"{PERIODS}.skip:Skip._renumbered",
        "adds.requests[process.name]",
        "0",
        "a compaction between two skipped periods",
    ),
    Planted(f"{PERIODS}.skip:Skip._count", "+= later_us", "+= 0", "automatic commits"),
    Planted(f"{PERIODS}.skip:Skip._count", "+= times * count", "+= count", 214),
    Planted(
        f"{WORLD}.consumer.policy:PolicyCommits.move", "self._last_us += later_us", "pass", 700
    ),
    Planted(
        f"{WORLD}.consumer.policy:PolicyCommits.move",
        "+= records.get(tp, 0)",
        "+= 0",
        "commits of three records",
    ),
    Planted(
        f"{WORLD}.consumer.handling.handler:Batch.moved",
        "self.begin_us + later_us",
        "self.begin_us",
        32,
    ),
    Planted(
        f"{WORLD}.consumer.progress:Progress.move",
        "epoch.began_us += later_us",
        "pass",
        "automatic commits",
    ),
    Planted(
        f"{WORLD}.consumer.progress:Progress.move",
        "epoch.written += count",
        "pass",
        "automatic commits",
    ),
    Planted(
        f"{WORLD}.consumer.progress:Progress.move", "self._owners.done[tp] += count", "pass", 214
    ),
    Planted(f"{IN_FLIGHT}.move", "want.when_us += later_us", "pass", 32),
    Planted(f"{IN_FLIGHT}.move", "want.offset += records.get(tp, 0)", "pass", "automatic commits"),
    Planted(f"{IN_FLIGHT}.move", "self.asked_us += later_us", "", 260),
    Planted(
        "protocols.consumer.fetch_buffer:FetchBuffer.move",
        "completed.position += count",
        "pass",
        "polls that leave records in the buffer",
    ),
    Planted(
        "protocols.consumer.classic.periods:Recurring.move",
        "polled_us += later_us",
        "polled_us += 0",
        212,
    ),
    Planted(
        "protocols.consumer.classic.periods:moved_state",
        "beat.due_us + later_us",
        "beat.due_us",
        "automatic commits",
    ),
    Planted(
        "protocols.consumer.classic.periods:moved_state",
        "beat.session_us + later_us",
        "beat.session_us",
        "full segments",
    ),
    Planted(
        "protocols.consumer.classic.periods:moved_state",
        "commit_us += later_us",
        "pass",
        "automatic commits",
    ),
    Planted(
        "protocols.consumer.classic.periods:moved_state",
        "+ numbers.more",
        "",
        "a compaction between two skipped periods",
    ),
    Planted(
        "protocols.coordinator.durability:Durability.skip",
        "self.view = durable =",
        "durable =",
        "samples while a commit waits for the log",
    ),
    Planted(
        f"{PERIODS}.state:_relative", "process.fetches.relative(process, positions, now)", "1", 1013
    ),
    Planted(
        f"{PERIODS}.marks:measured",
        "repeated_events(before, state, mark.events)",
        "mark.events",
        BEHIND,
    ),
    Planted(
        "protocols.consumer.classic.machine:Client.move",
        "moved_responses(self._arrived, later_us, records)",
        "self._arrived",
        298,
    ),
)


@contextmanager
def planted(fault: Planted) -> Iterator[None]:
    """Replace the code of one function while the block runs."""
    function = _function(fault.function)
    right = function.__code__
    function.__code__ = _changed(function, fault)
    try:
        yield
    finally:
        function.__code__ = right


def _function(name: str) -> FunctionType:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if isinstance(found, property):
        found = found.fget
    assert isinstance(found, FunctionType)
    return found


def _changed(function: FunctionType, fault: Planted) -> Any:
    source = textwrap.dedent(inspect.getsource(function)).removeprefix("@property\n")
    right, wrong = (text.replace("\n        ", "\n    ") for text in (fault.right, fault.wrong))
    assert source.count(right) == 1, f"{fault.name} stands {source.count(right)} times"
    made: dict[str, Any] = {}
    whole = "from __future__ import annotations\n" + source.replace(right, wrong)
    exec(compile(whole, fault.function, "exec"), function.__globals__, made)
    return made[function.__name__].__code__
