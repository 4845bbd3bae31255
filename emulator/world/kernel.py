"""Virtual time: the event queue of SimPy, with a defined order at equal times.

Everything that happens is a call of some action at an integer microsecond. Equal times run in order
of (rank, party); events that are equal in both belong to one party and run in the order in which
they were scheduled. Polling by arithmetic depends on this order.
"""

from __future__ import annotations

import enum
import gc
import heapq
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import simpy
from simpy.core import StopSimulation

_WHO_LIMIT = 1 << 32


class Rank(enum.IntEnum):
    """The order of events at the same microsecond; parties are added to it."""

    FAULT = 1 * _WHO_LIMIT
    AT_BROKER = 2 * _WHO_LIMIT
    BROKER_TIMER = 3 * _WHO_LIMIT
    RECORDS_AT_CLIENT = 4 * _WHO_LIMIT
    AT_CLIENT = 5 * _WHO_LIMIT
    CLIENT_TIMER = 6 * _WHO_LIMIT
    APPLICATION = 7 * _WHO_LIMIT
    SAMPLE = 8 * _WHO_LIMIT


BEFORE_ALL = 0
"""The order of what happens before all else at its instant, as SimPy's urgent events."""

CHECKED_EVERY = 1 << 14
"""Events between two checks that the clock advances."""

MAX_AT_AN_INSTANT = 1 << 15
"""Events at one instant after which a run is stopped, besides those that each party may make."""

MAX_IN_AN_EVENT = 1 << 20
"""Effects of a client within one event after which a run is stopped.

They are many without work: then one event polls all that the client has fetched.
"""

MAX_BY_A_PARTY = 200
"""The same for each consumer and each partition: all of them may be disturbed at one instant."""

NAMED_AFTER = 2_000
"""Events that are counted by party when the clock stands still."""

ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000


def order_of(rank: Rank, who: int) -> int:
    """Return the order of an event among equal times; SimPy compares it as a priority."""
    return rank + who


class Moment(simpy.Event):
    """One action at one time; constructed cheaply, as ``simpy.Timeout`` is."""

    _ok = True
    _value = None
    recurs = False
    """Whether it moves with the state of its owner where whole periods are skipped."""

    def __init__(self, action: Callable[[Any], None]) -> None:
        # The base constructor is skipped for speed: a run makes millions of these.
        self.callbacks = [action]


class Queue(simpy.Environment):
    """SimPy's queue, which knows how far it is within an instant."""

    reached = 0
    """The largest order of an event that has begun at this instant.

    An event without any delay may follow others of a larger order: all that were due before those have
    happened.
    """

    def step(self) -> None:
        """Process the next event."""
        when, order, _, _ = self._queue[0]
        if order > self.reached or when > self._now:
            self.reached = order
        super().step()


class Kernel:
    """The clock and the queue of one run."""

    def __init__(self) -> None:
        self.env = Queue(initial_time=0)
        self.scheduled = 0
        self.max_at_an_instant = MAX_AT_AN_INSTANT
        self.max_in_an_event = MAX_IN_AN_EVENT
        self.names: Callable[[], Sequence[str]] = tuple
        """Returns the consumers by index, for the error of a clock that stands still."""

        self._checked_us = -1
        self._since = 0
        """The number of events scheduled when the clock was first seen at that instant."""

    @property
    def now(self) -> int:
        """Microseconds since the run began."""
        now: Any = self.env._now  # noqa: SLF001 (asked for several times an event)
        return now  # type: ignore[no-any-return]  # all delays are whole, so it is an int

    @property
    def reached(self) -> int:
        """The largest order of an event that has begun at this instant, as :func:`order_of` returns it."""
        return self.env.reached

    def at(self, when_us: int, rank: Rank, who: int, action: Callable[[Any], None]) -> Moment:
        """Call ``action`` with the returned moment at ``when_us``, which is not before now."""
        return self.push(when_us, rank + who, action)

    def push(self, when_us: int, order: Any, action: Callable[[Any], None]) -> Moment:
        """Schedule as :meth:`at` does, with an order that :func:`order_of` returned before."""
        env: Any = self.env
        self.scheduled += 1
        if not self.scheduled % CHECKED_EVERY:
            self._check_advance()
        moment = Moment(action)
        heapq.heappush(env._queue, (when_us, order, next(env._eid), moment))  # noqa: SLF001 (as Environment.schedule)
        return moment

    def _check_advance(self) -> None:
        """Begin to count who makes events if there are too many at one instant."""
        if self.now != self._checked_us:
            self._checked_us, self._since = self.now, self.scheduled
        elif self.scheduled - self._since > self.max_at_an_instant:
            from emulator.world.stalled_clock import Made  # noqa: PLC0415  hardly any run needs it

            self._made = Made()
            self.push = self._count_push  # type: ignore[method-assign]

    def _count_push(self, when_us: int, order: Any, action: Callable[[Any], None]) -> Moment:
        """Schedule as :meth:`push` does; raise StalledClockError after some events at one instant."""
        if self.now != self._checked_us:
            del self.push  # the clock advances: schedule without counting again
            return self.push(when_us, order, action)
        self._made[Rank(order // _WHO_LIMIT * _WHO_LIMIT).name, order % _WHO_LIMIT] += 1
        if self._made.total() > NAMED_AFTER:
            from emulator.world.stalled_clock import StalledClockError  # noqa: PLC0415

            events = self.scheduled - self._since
            raise StalledClockError(self.now, events, self._made, self.names())
        return type(self).push(self, when_us, order, action)

    def stand_still(self, rank: Rank, who: int) -> NoReturn:
        """Raise StalledClockError: the effects of a party within one event do not end."""
        from emulator.world.stalled_clock import Made, StalledClockError  # noqa: PLC0415  as above

        made = Made({(rank.name, who): self.max_in_an_event})
        raise StalledClockError(self.now, self.max_in_an_event, made, self.names())

    # -- skipping periods --------------------------------------------------------------------------

    def limit_us(self) -> int:
        """Return when the next event happens that does not recur: at the latest, the run ends."""
        queue = self.env._queue  # noqa: SLF001 (SimPy has no public access)
        return int(
            min(when for when, _, _, each in queue if type(each) is not Moment or not each.recurs)
        )

    def advance(self, now_us: int) -> None:
        """Set the clock, which no event that does not recur may precede."""
        self.env._now = now_us  # noqa: SLF001

    def move(self, later_us: int) -> None:
        """Move all events that recur by *later_us*; call it when the clock is there."""
        queue = self.env._queue  # noqa: SLF001
        queue[:] = [
            (when + later_us if _recurs(moment) else when, order, number, moment)
            for when, order, number, moment in queue
        ]
        heapq.heapify(queue)

    def recurring(self) -> list[tuple[int, Callable[[Any], None]]]:
        """Return the time and the action of each event that recurs, in their order."""
        queue = [entry for entry in self.env._queue if _recurs(entry[3])]  # noqa: SLF001
        queue.sort(key=lambda entry: entry[:3])
        actions: list[tuple[int, Any]] = [
            (int(when), moment.callbacks[0]) for when, _, _, moment in queue if moment.callbacks
        ]
        return actions

    def process(self, steps: Generator[Any, Any, None]) -> None:
        """Run a script of acts as a SimPy process."""
        self.env.process(steps)

    def stop(self) -> NoReturn:
        """End the run from within an action; nothing else happens at this instant."""
        raise StopSimulation(None)

    def run(self, until_us: int) -> None:
        """Run everything before ``until_us``; events at that instant do not happen."""
        with _rare_collections():
            self.env.run(until=until_us)


def _recurs(moment: simpy.Event) -> bool:
    return isinstance(moment, Moment) and moment.recurs


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Make Python collect cyclic garbage rarely: a run creates hardly any.

    With thousands of members, a collection every 700 allocations costs a third of a run.
    """
    before = gc.get_threshold()
    often = before[0] and max(before[0], ALLOCATIONS_BETWEEN_COLLECTIONS)
    gc.set_threshold(often, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Deadlines:
    """Wakes a machine at the deadlines it has set."""

    def __init__(
        self, kernel: Kernel, rank: Rank, who: int, wake: Callable[[str, int], None]
    ) -> None:
        self._kernel = kernel
        self._order = order_of(rank, who)
        self._wake = wake
        self._due: dict[str, int] = {}
        self._begun_by: dict[str, str] = {}
        """By deadline: the client whose request began it, if one did."""

        self._queued: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._pushed: list[int] = []
        """When the events that are in the kernel's queue fire, the next one last."""

        self._open = True
        self.watched: dict[str, list[tuple[int, int]]] = {}
        """By name: when each deadline was set or reached, and the deadline, for these names."""

    def set(self, name: str, deadline_us: int, begun_by: str = "") -> None:
        """Wake with ``name`` at ``deadline_us``, instead of any earlier or later deadline."""
        self._due[name] = deadline_us
        if begun_by or self._begun_by:
            self._begun_by[name] = begun_by
        if name in self.watched:
            self.watched[name].append((self._kernel.now, deadline_us))
        queued = self._queued.get(name)
        if queued is None or queued > deadline_us:
            self._queued[name] = deadline_us
            heapq.heappush(self._heap, (deadline_us, name))
            self._schedule()

    def cancel(self, name: str) -> None:
        """Cancel the deadline ``name``."""
        self._due.pop(name, None)

    def renew_or_cancel(self, name: str, deadline_us: int | None) -> None:
        """Set the deadline ``name``, or cancel it: None."""
        if deadline_us is None:
            self.cancel(name)
        else:
            self.set(name, deadline_us)

    def __contains__(self, name: str) -> bool:
        """Return whether ``name`` has a deadline."""
        return name in self._due

    def deadline(self, name: str) -> int | None:
        """Return the deadline ``name``; None: it is not set."""
        return self._due.get(name)

    def earliest(self, limit_us: int) -> int:
        """Return the earliest deadline, at most *limit_us*."""
        return min([limit_us, *self._due.values()])

    def fire_before(self, client: str) -> None:
        """Fire the deadlines of this instant that the client's requests began; its next one follows.

        A client sends requests at an interval, each a little late, so a deadline after a multiple of
        the interval is reached before the request that is due then.
        """
        now = self._kernel.now
        found = self._come_due(now)
        for name in found:
            self._queued[name] = now
            heapq.heappush(self._heap, (now, name))
        self._wake_at([name for name in found if self._begun_by.get(name) == client], now)

    def due(self, now: int) -> bool:
        """Return whether a deadline may have been reached whose wake-up has not happened yet."""
        return bool(self._heap) and self._heap[0][0] <= now

    @property
    def times(self) -> dict[str, int]:
        """All deadlines."""
        return dict(self._due)

    def watch(self, name: str) -> None:
        """Collect the deadlines of this name from now on, the present one included."""
        self.watched[name] = []
        if name in self._due:
            self.watched[name].append((self._kernel.now, self._due[name]))

    def renew(self, name: str, deadline_us: int) -> None:
        """Set a deadline that exists to a later time; :meth:`move` follows."""
        self._due[name] = self._queued[name] = deadline_us

    def move(self, later_us: int, names: Collection[str]) -> None:
        """Move these deadlines by *later_us*; the kernel has moved, all others are still to come."""
        for times in (self._due, self._queued):
            for name in names:
                if name in times:
                    times[name] += later_us
        self._heap = [(when, name) for name, when in self._queued.items()]
        heapq.heapify(self._heap)
        self._pushed = [when + later_us for when in self._pushed]
        if self._heap:
            self._schedule()

    def close(self) -> None:
        """Cancel all deadlines: the machine no longer exists."""
        self._open = False
        self._due.clear()

    def _schedule(self) -> None:
        """Fire at the earliest deadline, unless an event does so before: it comes here again."""
        earliest = self._heap[0][0]
        if not self._pushed or earliest < self._pushed[-1]:
            when = max(earliest, self._kernel.now)
            self._pushed.append(when)
            self._kernel.push(when, self._order, self._fire).recurs = True

    def _fire(self, _: Any) -> None:
        if not self._open:
            return
        self._pushed.pop()
        now = self._kernel.now
        self._wake_at(self._come_due(now), now)
        if self._heap:
            self._schedule()

    def _wake_at(self, names: Iterable[str], now: int) -> None:
        """Wake with each name, unless an earlier wake-up has cancelled it or set it to a later time."""
        for name in names:
            if self._due.get(name, now + 1) <= now:
                del self._due[name]
                if name in self.watched:
                    self.watched[name].append((now, now))
                self._wake(name, now)

    def _come_due(self, now: int) -> list[str]:
        """Remove due deadlines from the heap; put renewed ones back with their new time."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            queued, name = heapq.heappop(self._heap)
            if self._queued.get(name) != queued:
                continue
            del self._queued[name]
            due = self._due.get(name)
            if due is None:
                continue
            if due > now:
                self._queued[name] = due
                heapq.heappush(self._heap, (due, name))
            else:
                found.append(name)
        return found


Then = Callable[[], None]
"""What goes on when something has ended: a write, a drain, a call of the listener."""

Script = Generator[simpy.Event, Any, None]


def wait(env: simpy.Environment, length_us: int | None) -> Script:
    """Wait for *length_us*; for None or 0, return at once."""
    if length_us:
        yield env.timeout(length_us)
