"""States that may come again, and the periods between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field

from assignors.values import dataclass
from emulator.events import CommitSent, Event
from emulator.world.cluster.offsets_log.stored_log import StoredBatch
from emulator.world.periods.beats import HEARTBEAT_KIND, beats_of
from emulator.world.periods.beginnings import commits_repeat, repeated_events
from emulator.world.periods.shift import LogGrowth, can_move, is_commit
from emulator.world.periods.skip import Period, added, counts_requests, logs_of
from emulator.world.periods.state import State, beats_move, grown, moving_timers, without
from emulator.world.periods.upkeep import habits_of
from emulator.world.world import World
from protocols.offsets_topic.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state that may come again, and what happens from then on."""

    state: State
    events: list[Event] = field(default_factory=list)
    appended: dict[int, list[StoredBatch]] = field(default_factory=dict)
    """By number of the offsets partition."""


def measured(world: World, mark: Mark, state: State, *, takes_short: bool) -> Period | None:
    """Return the period between the marked state and the same one now; None: it is irregular.

    *takes_short*: also one without heartbeats.
    """
    before = mark.state
    moving, beats_apart = moving_timers(before, state), False
    if moving is None and takes_short:
        moving, beats_apart = moving_timers(before, state, beats_apart=True), True
    if moving is None or state.metadata_us != before.metadata_us:
        return None
    if not takes_short and not beats_move(state, moving):
        return None
    events = repeated_events(before, state, mark.events)
    if events is None:
        return None
    records = list(_records_of(mark.appended))
    if not commits_repeat(before, state, events, records):
        return None
    if not all(can_move(event.what) for event in events):
        return None
    apart = {HEARTBEAT_KIND} if beats_apart else set()
    if counts_requests(events) and not _counts_alike(world, before, state, apart):
        return None
    growths = _growths(mark.appended)
    if not all(map(is_commit, records)) or not _has_all_open(world, growths):
        return None
    habits = habits_of(world, events, before, state.at_us)
    beats = beats_of(world, before, state, events, habits) if beats_apart else {}
    if beats is None:
        return None
    counts = grown(without(before.counts, apart), without(state.counts, apart))
    return Period(
        end=state,
        logs=logs_of(world),
        adds=added(before, state, growths, {n: len(each.sent_us) for n, each in beats.items()}),
        counts=counts,
        moving=moving,
        habits=habits | {name: each.habit for name, each in beats.items()},
        beats=beats,
        events=events,
        sent_us=_sent_us(before, events),
        counts_requests=counts_requests(events),
        appended=mark.appended,
    )


def _counts_alike(world: World, before: State, after: State, apart: AbstractSet[str]) -> bool:
    """Return whether samples between two states recur, and count the same requests each time.

    Where no request is sent, equal counts do not show that samples are as far away. *apart*: kinds
    of requests that do not recur.
    """
    every_us = world.run.scenario.lag_every
    alike = without(before.counts, apart) == without(after.counts, apart)
    return alike and (after.at_us - before.at_us) % every_us == 0


def _sent_us(before: State, events: Iterable[Event]) -> dict[str, int]:
    """Return when each commit of a period was sent: those that were open at its beginning, too."""
    found = {name: request.sent_us for name, request in before.in_flight.items()}
    for event in events:
        if type(event.what) is CommitSent:
            found[event.what.commit] = event.at_us
    return found


def _records_of(appended: dict[int, list[StoredBatch]]) -> Iterator[Record]:
    for batches in appended.values():
        for batch in batches:
            yield from batch.records


def _has_all_open(world: World, growths: Mapping[int, LogGrowth]) -> bool:
    """Return whether all that a replica may lack of a log was appended in one period, or none was."""
    for shard in world.offsets_topic:
        log, end = shard.leaders_log()
        records = growths[shard.number].records
        if records and end - log.settled > records:
            return False
    return True


def _growths(appended: dict[int, list[StoredBatch]]) -> dict[int, LogGrowth]:
    """Return the growth of each offsets partition by these batches."""
    return {
        number: LogGrowth(
            sum(batch.header.record_count for batch in batches),
            sum(batch.size for batch in batches),
        )
        for number, batches in appended.items()
    }
