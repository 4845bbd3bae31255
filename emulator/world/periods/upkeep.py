"""Requests and checks that have intervals of their own and change nothing in an undisturbed run.

A client requests metadata when those it has reach their age limit; a coordinator looks for expired
offsets. Neither recurs with a period of the run. If the response says what the client knows, or no
offset may expire, only the time of the next one changes: periods are skipped across it. A metadata
request takes the next correlation id, so later commits have other names.

With Java's classic client, a response that arrives while a poll or a commitSync() waits is handled at once;
another one by the next of these calls, or by the next turn of the heartbeat thread if that is earlier. A
background thread handles each response at once (:mod:`~emulator.world.periods.thread_habit`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from assignors.values import dataclass
from emulator.events import CommitAnswered, CommitSent, Event
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.network import broker_party
from emulator.world.periods.in_flight import is_classic
from protocols.consumer import metadata
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.machine import Client as ClassicClient
from protocols.consumer.classic.membership import note_new_metadata
from protocols.consumer.metadata import METADATA
from protocols.groups.deletion import EXPIRE_OFFSETS

if TYPE_CHECKING:
    from emulator.world.cluster.hosts import Host
    from emulator.world.consumer.process import Process
    from emulator.world.periods.state import State
    from emulator.world.periods.thread_habit import ThreadHabit
    from emulator.world.world import World
    from protocols.consumer.refresh import Apply, NextRequest


@dataclass(slots=True, kw_only=True)
class Habit:
    """What one client does in a period; times (us) are relative to its beginning."""

    period_us: int
    waits: array[int]
    """Begin and end of each call that waits for responses, in turns."""

    turns: Sequence[tuple[int, int]]
    """When the timer of the heartbeat thread was set or reached, and its deadline."""

    partial: Sequence[int]
    """When a poll returned records and left responses unread that had arrived after the last turn.

    A poll that applies metadata reads all responses.
    """

    sent: set[int] = field(default_factory=set)
    """When commits were sent."""

    waits_in_commits: bool = False
    """Whether some of the calls that wait are commitSync()."""

    def handled_us(self, arrives_us: int, thread_us: int) -> int | None:
        """Return when a response is handled; None: other things happen in the same instant.

        *thread_us*: the time between two turns of the heartbeat thread.
        """
        whole, at_us = divmod(arrives_us, self.period_us)
        count = bisect_right(self.waits, at_us)
        if count % 2:
            more = self.waits_in_commits and self._reads_more(at_us, at_us)
            return None if more else arrives_us
        if self.waits_in_commits and count and self.waits[count - 1] == at_us:
            return None
        last = bisect_left(self.turns, (at_us, -1)) - 1
        if last < 0:
            return None
        deadline_us = self.turns[last][1]
        turn_us = at_us + thread_us - (at_us - deadline_us) % thread_us
        next_us = self._next_wait_us(count)
        if turn_us == next_us or not self._keeps_turn(last + 1, turn_us, next_us):
            return None
        handled_us = min(turn_us, next_us)
        if handled_us >= self.period_us or self._reads_more(at_us, handled_us):
            return None
        return whole * self.period_us + handled_us

    def _keeps_turn(self, following: int, turn_us: int, next_us: int) -> bool:
        """Return whether a response changes nothing up to the thread's next turn, or to the next wait.

        *following*: the first turn from its arrival on. A response to a heartbeat that arrives while
        the application works awaits the same turn; one that is sent then follows all responses.
        """
        for set_us, deadline_us in self.turns[following:]:
            if set_us > min(turn_us, next_us):
                return True
            if deadline_us != turn_us or set_us >= next_us:
                return False
            if set_us == turn_us:
                return True
        return True

    def _next_wait_us(self, count: int) -> int:
        """Return when a client that has begun and ended *count* / 2 waits begins the next one."""
        waits = self.waits
        if count < len(waits):
            return waits[count]
        return self.period_us + waits[0] if waits else self.period_us

    def _reads_more(self, begin_us: int, end_us: int) -> bool:
        """Return whether polls would read more, because a response awaits its handling.

        They do until the next poll that waits; a commit may come before it.
        """
        if not self.partial:
            return False
        count = bisect_left(self.waits, end_us)
        following = count + count % 2 + 2
        if following >= len(self.waits):
            return True
        end_us = self.waits[following]
        return bisect_right(self.partial, end_us) > bisect_left(self.partial, begin_us)

    def meets(self, sent_us: int, handled_us: int) -> bool:
        """Return whether the order of commits depends on a request or its response.

        A poll that handles a response sends its due commit before other members; commitSync() comes last.
        """
        at_us = {sent_us % self.period_us, handled_us % self.period_us}
        return not self.waits_in_commits and not self.sent.isdisjoint(at_us)


def habits_of(
    world: World, events: Iterable[Event], before: State, end_us: int
) -> dict[str, Habit | ThreadHabit]:
    """Return the habit of each process of which all is known in a period that begins *before*."""
    found: dict[str, Habit | ThreadHabit] = {}
    begin_us = before.at_us
    for process in world.consumers.everyone():
        client, turns = process.client, process.timers.watched.get(HEARTBEAT)
        if turns is None:
            continue
        if not isinstance(client, ClassicClient):
            from emulator.world.periods.thread_habit import (  # noqa: PLC0415  only here
                queue_times,
                thread_habit,
            )

            if is_classic(process) and process.blueprint.commit.call == "sync":
                continue
            waits = _within(queue_times(process), begin_us, end_us)
            found[process.name] = thread_habit(process, waits, turns, begin_us, end_us)
            continue
        clock = client.consumer.clock
        if clock.waits is None or not _reads_regularly(process):
            continue
        found[process.name] = Habit(
            period_us=end_us - begin_us,
            waits=array("q", [at - begin_us for at in _within(clock.waits, begin_us, end_us)]),
            turns=[(at_us - begin_us, when - begin_us) for at_us, when in turns],
            partial=[at - begin_us for at in clock.partial if at > begin_us],
        )
    waiting = [name for name, request in before.in_flight.items() if request.is_sync]
    _add_commits(found, events, waiting, begin_us, end_us)
    return found


def _reads_regularly(process: Process) -> bool:
    """Return whether only polls, and commitSync() after each batch, read responses."""
    policy = process.blueprint.commit
    return policy.call in ("auto", "none") or (policy.call == "sync" and policy.when == "batch")


def _within(waits: Sequence[int], begin_us: int, end_us: int) -> list[int]:
    """Return begin and end of each wait in a period."""
    first = bisect_right(waits, begin_us)
    found = list(waits[first:])
    if first % 2:
        found.insert(0, begin_us)
    return [*found, end_us] if len(found) % 2 else found


def _add_commits(
    habits: Mapping[str, Habit | ThreadHabit],
    events: Iterable[Event],
    waiting: Iterable[str],
    begin_us: int,
    end_us: int,
) -> None:
    """Add when commits were sent, and the waits of the classic client for commitSync().

    *waiting*: the commits that commitSync() waits for when the period begins.
    """
    sync = dict[str, tuple[Habit, int]]()
    for commit in waiting:
        habit = habits.get(process_of(commit))
        if type(habit) is Habit:
            sync[commit] = habit, 0
    for event in events:
        what, at_us = event.what, event.at_us - begin_us
        if type(what) is CommitSent:
            habit = habits.get(process_of(what.commit))
            if habit is not None:
                habit.sent.add(at_us)
                if what.kind == "sync" and type(habit) is Habit:
                    sync[what.commit] = habit, at_us
        elif type(what) is CommitAnswered and what.commit in sync:
            found, sent_us = sync.pop(what.commit)
            found.waits_in_commits = True
            found.waits.extend((sent_us, at_us))
    for found, sent_us in sync.values():
        found.waits.extend((sent_us, end_us - begin_us))
    for habit in habits.values():
        habit.waits = array("q", _joined(habit.waits))


def _joined(waits: Sequence[int]) -> list[int]:
    """Return waits in order of time, each followed by a pause."""
    found = list[int]()
    for begin, end in sorted(zip(waits[::2], waits[1::2], strict=True)):
        if found and begin <= found[-1]:
            found[-1] = max(found[-1], end)
        else:
            found += [begin, end]
    return found


def process_of(commit: str) -> str:
    """Return the process that sent a commit."""
    return commit.rpartition("#")[0]


class Requests(NamedTuple):
    """The metadata requests of one process from now on."""

    process: Process
    sent_us: list[int]
    handled_us: list[int]
    """When the response to each was handled."""

    def until(self, end_us: int) -> int:
        """Return how many were sent up to *end_us*, inclusive."""
        return bisect_right(self.sent_us, end_us)


class Checks(NamedTuple):
    """The checks for expired offsets of one coordinator from now on."""

    host: Host
    first_us: int
    every_us: int


class Upkeep:
    """The metadata requests and checks of a run from now on, while nothing disturbs it."""

    def __init__(
        self, world: World, habits: Mapping[str, Habit | ThreadHabit], now: int, limit_us: int
    ) -> None:
        """Find those before *limit_us* that change nothing; *now*: where a period begins."""
        self._world = world
        self._habits = habits
        self._now = now
        self._answer = cache(world.router.metadata)
        self.requests: dict[str, Requests] = {}
        self._checks: list[Checks] = []
        self._all_us: list[int] | None = None
        self.limit_us = limit_us
        """*limit_us*, or the time of the first request or check that has to be played."""

        for shard in world.offsets_topic:
            for host in shard.hosts.values():
                self._find_checks(host)
        for process in world.consumers.everyone():
            self._find_requests(process)

    # -- metadata requests -------------------------------------------------------------------------

    def _find_requests(self, process: Process) -> None:
        """Find the metadata requests of a process up to the first that has to be played."""
        client: Any = process.client
        due_us = metadata.due_us(client.state.metadata, client.consumer)
        timer_us = process.timers.times.get(METADATA, NEVER)
        if min(due_us, timer_us) >= self.limit_us:
            return
        habit = self._habits.get(process.name)
        following = self._next_harmless(client) if habit and timer_us == due_us else None
        trip_us = None if following is None else self._round_trip_us(process, following.nodes)
        if habit is None or following is None or trip_us is None or 2 * trip_us >= following.age_us:
            self.limit_us = min(due_us, timer_us)
            return
        found = self.requests[process.name] = Requests(process, [], [])
        while due_us < self.limit_us:
            since_us = due_us - self._now
            handled_us = habit.handled_us(since_us + trip_us, following.thread_us)
            if handled_us is None or habit.meets(since_us, handled_us):
                self.limit_us = due_us
                return
            found.sent_us.append(due_us)
            found.handled_us.append(self._now + handled_us)
            due_us = following.age_us + (due_us if following.in_steps else self._now + handled_us)

    def _next_harmless(self, client: Any) -> NextRequest | None:
        """Return the next request of a client; None: its response may bring something new."""
        from protocols.consumer import refresh  # noqa: PLC0415  short runs have no requests

        following = refresh.next_request(client.state, client.consumer)
        if following is None:
            return None
        answer, *others = [self._answer(following.request, node) for node in following.nodes]
        if answer is None or any(other != answer for other in others):
            return None
        state, consumer, apply = client.state, client.consumer, _applies_metadata(client)
        return following if refresh.brings_nothing(state, consumer, answer, apply) else None

    def _round_trip_us(self, process: Process, nodes: Iterable[int]) -> int | None:
        """Return the constant time from a request to its response; None: it depends on the broker."""
        wire, here, now = self._world.run.wire, process.party, self._now
        parties = map(broker_party, nodes)
        trips = {wire.delay(here, there, now) + wire.delay(there, here, now) for there in parties}
        return trips.pop() if len(trips) == 1 else None

    def is_settled(self, end_us: int) -> bool:
        """Return whether every client has applied its last response when a period ends then."""
        later_us = end_us - self._now
        for found in self.requests.values():
            count = found.until(end_us)
            client: Any = found.process.client
            applied_us = end_us
            if is_classic(found.process):
                applied_us = client.consumer.clock.polled_us + later_us
            if count and found.handled_us[count - 1] >= applied_us:
                return False
        return True

    # -- checks for expired offsets ----------------------------------------------------------------

    def _find_checks(self, host: Host) -> None:
        due_us = host.timers.times.get(EXPIRE_OFFSETS, NEVER)
        if due_us >= self.limit_us:
            return
        if host.expires_nothing():
            settings = self._world.run.broker_settings
            every_us = settings.offsets_retention_check_interval_ms * 1_000
            self._checks.append(Checks(host, due_us, every_us))
        else:
            self.limit_us = due_us

    # -- what they change --------------------------------------------------------------------------

    def number_later(self, commit: str, sent_us: int) -> int:
        """Return how many requests a process has sent before a commit, which it sends then."""
        found = self.requests.get(process_of(commit))
        return 0 if found is None else found.until(sent_us)

    def sent_between(self, begin_us: int, end_us: int) -> int:
        """Return how many metadata requests were sent after *begin_us*, up to *end_us*."""
        if self._all_us is None:
            every = [found.sent_us for found in self.requests.values()]
            self._all_us = sorted([sent_us for times in every for sent_us in times])
        return bisect_right(self._all_us, end_us) - bisect_right(self._all_us, begin_us)

    def carry_out(self, end_us: int) -> None:
        """Put clients and coordinators where all requests and checks up to *end_us* leave them."""
        for found in self.requests.values():
            count, client = found.until(end_us), _client(found.process)
            if count:
                _refresh(client, found.handled_us[count - 1], count)
                due_us = metadata.due_us(client.state.metadata, client.consumer)
                found.process.timers.renew(METADATA, due_us)
        for host, first_us, every_us in self._checks:
            if first_us <= end_us:
                count = (end_us - first_us) // every_us + 1
                host.timers.renew(EXPIRE_OFFSETS, first_us + count * every_us)


def _client(process: Process) -> Any:
    return process.client


def _refresh(client: Any, fetched_us: int, times: int) -> None:
    """Apply so many responses that brought nothing new, the last one at *fetched_us*."""
    from protocols.consumer import refresh  # noqa: PLC0415  short runs have no requests

    state, consumer, apply = client.state, client.consumer, _applies_metadata(client)
    client.state = refresh.refreshed_state(state, consumer, fetched_us, times, apply)


def _applies_metadata(client: Any) -> Apply:
    """Return how a client applies new metadata; a member of the consumer protocol never rejoins."""
    if client.consumer.settings.group_protocol == "classic":
        return note_new_metadata
    from protocols.consumer.kip848.membership import refresh_subscription  # noqa: PLC0415  only here

    return refresh_subscription
