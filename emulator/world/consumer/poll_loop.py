"""The poll loop of a calm consumer, stepped by arithmetic: one event a batch, or two.

While a group is stable and nothing is on its way to a consumer but records, a poll does nothing
that the client has to be asked about. This loop then polls in its place: it looks which fetches
have been answered, hands the records out by the client's own rules (``Fetcher``), sends the next
fetches, and lets the handler work. Every other event of the process first unfolds the loop: the
client is then in exactly the state in which it would have been. What a run does is the same with
and without it; a test says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.arrivals import NEVER
from emulator.world.consumer.fetch_in_flight import FetchInFlight, Found, batch_of, seen_by_one_poll
from emulator.world.consumer.handler import Batch
from emulator.world.consumer.interfaces import ConsumerProcess
from emulator.world.consumer.progress import Unreported
from emulator.world.kernel import Moment, Rank, order_of
from protocols.consumer.classic.heartbeat import last_tick
from protocols.consumer.classic.machine import POLL
from protocols.consumer.classic.rejoin import RETRY

if TYPE_CHECKING:
    from emulator.world.draws import Sampler
    from protocols.consumer.classic.machine import Client

NOT_WAITING = -1


class PollLoop:
    """Polls for one process while it is calm."""

    def __init__(self, process: ConsumerProcess, client: Client) -> None:
        self._process = process
        self._app = process.application
        self._progress = process.progress
        self._client = client
        self._fetcher = client.consumer.fetcher
        self._clock = client.consumer.clock
        self._fetches = process.fetches
        self._kernel = process.run.kernel
        self._settings = process.blueprint.settings
        self._push = process.run.kernel.push
        self._as_arrival = order_of(Rank.RECORDS_AT_CLIENT, process.blueprint.index)
        self._as_timer = order_of(Rank.CLIENT_TIMER, process.blueprint.index)
        self._as_application = order_of(Rank.APPLICATION, process.blueprint.index)
        self._timeout_us = process.blueprint.poll_timeout_us
        self._late = process.blueprint.lateness_us
        self._limit = self._settings.max_poll_records
        self._plan = process.blueprint.plan
        self._counts = process.request_counts
        self._flights: dict[int, FetchInFlight] = {}
        self._finished = Unreported(process.application, process.progress)

        self._batch: Batch | None = None
        self._awaited: Moment | None = None
        self._ahead: tuple[int, FetchInFlight, Found, Batch] | None = None
        """The next answer, when it arrives, what it brings, and the batch that will be."""

        self._due_us = 0
        self._until_us = NOT_WAITING
        self._ends_us = 0
        """When the wait ends that waits for nothing but its own end."""

        self.folded = False

    # -- taking over, giving back ------------------------------------------------------------------

    def poll(self, now: int) -> bool:
        """Poll in the client's place; False if the client has to do it itself."""
        if not self.folded and not self._fold(now):
            return False
        if now >= self._due_us:
            self.unfold()
            return False
        self._clock.polled_us = now
        arrived = None
        for flight in self._flights.values():
            if flight.arrives_us <= now:
                arrived = [flight for flight in self._flights.values() if flight.arrives_us <= now]
                break
        if arrived and not self._serve(arrived, now):
            self.unfold()
            return False
        if self._batch is None:
            self._wait(now, now + self._timeout_us)
        return True

    def _fold(self, now: int) -> bool:
        """Take over if only records can happen for a while."""
        due = self._client.quiet_until(now)
        if due is None or not self._app.calm or not self._process.run.triggers.idle:
            return False
        if self._settings.fetch_min_bytes > 1 or not self._progress.alone:
            return False
        if self._progress.behind or not self._fetcher.connected:
            return False
        self._flights = self._fetches.of(self._process)
        wants = [want for f in self._flights.values() for want in f.wants.cached.values()]
        if any(flight.arrives_us >= NEVER for flight in self._flights.values()):
            return False
        if not self._fetcher.asked_for([(want.partition, want.offset) for want in wants]):
            return False
        for flight in self._flights.values():
            flight.live = False
        self._due_us = due
        self.folded = True
        return True

    def unfold(self, *, before_arrivals: bool = False) -> None:
        """Put the client, the handler and the wire where they would be without this loop.

        *before_arrivals*: what arrives at this very instant has not arrived yet (faults).
        """
        if not self.folded:
            return
        now = self._kernel.now
        self.catch_up(now - 1 if before_arrivals else now)
        if self._until_us != NOT_WAITING and not before_arrivals:
            self._look(now)
        self.folded = False
        self._awaited = self._ahead = None
        self._sync()
        if self._until_us != NOT_WAITING:
            self._process.carry_out(self._client.waits(self._until_us))
            self._until_us = NOT_WAITING
        else:
            self._give_back_work(now - 1 if before_arrivals else now)
        self._fetches.go_live(self._process)

    def _sync(self) -> None:
        """Pass the progress of this loop to the client and to the ownership epochs."""
        self.write()
        for flight in self._flights.values():
            for want in flight.wants.cached.values():
                epochs = want.log.epochs if want.log is not None else ()
                if self._fetcher.move_on(want.partition, want.offset, epochs):
                    self._progress.handed(want.partition, want.offset)

    def _give_back_work(self, until_us: int) -> None:
        """Make the handler end its batch by events; responses that arrived meanwhile are unread."""
        unread = [flight for flight in self._flights.values() if flight.arrives_us <= until_us]
        for flight in sorted(unread, key=lambda flight: flight.arrives_us):
            self._client.arrived_at(flight.arrives_us, self._fetches.take(flight))
        if self._batch is not None:
            batch, self._batch = self._batch, None
            self._app.go_on(batch)

    # -- waiting -----------------------------------------------------------------------------------

    def _wait(self, now: int, until: int) -> None:
        """Wait for the next answer, at most until poll returns empty or the client is due."""
        self._until_us = until
        last = self._ends_us = min(until, self._due_us)
        soonest, first = last + 1, None
        for flight in self._flights.values():
            if flight.arrives_us < soonest:
                soonest, first = flight.arrives_us, flight
        if self._late is not None and soonest >= last:
            self._wait_late(last, self._late)
        elif soonest == self._due_us:
            self.unfold()
        elif first is not None:
            self._look_ahead(soonest, first)
        else:
            self._awaited = self._push(max(now, last), self._as_timer, self._waited)

    def _wait_late(self, last: int, late: Sampler) -> None:
        """Wait for a timer that fires late; the client waits if more happens before.

        Responses that arrive, and timers due, by then find a poll whose timeout has expired.
        """
        self._ends_us = ends = last + late(last)
        if ends < self._due_us and all(f.arrives_us > ends for f in self._flights.values()):
            self._awaited = self._push(ends, self._as_timer, self._waited)
        else:
            self.unfold()

    def _look_ahead(self, soonest: int, flight: FetchInFlight) -> None:
        """Wait for the end of the batch that the next answer will bring: one event for both.

        Nothing of it has happened yet; :meth:`catch_up` makes it happen when it is read earlier.
        """
        found = flight.brings(self._limit)
        if not found:
            self._awaited = self._push(soonest, self._as_arrival, self._woken)
            return
        batch = batch_of(found, soonest, self._plan)
        self._ahead = (soonest, flight, found, batch)
        when = batch.end_us(batch.count - 1)
        self._awaited = self._push(when, self._as_application, self._worked)

    def catch_up(self, now: int) -> None:
        """Apply the answer of the look-ahead, if it is due by ``now``."""
        if self._ahead is None or self._ahead[0] > now:
            return
        soonest, flight, found, batch = self._ahead
        self._ahead = None
        self._clock.polled_us = soonest
        self._hand_out(flight, found)
        self._ask_again(flight, soonest)
        self._until_us = NOT_WAITING
        self._batch = batch
        self._app.work_on(batch)

    def _woken(self, moment: Moment) -> None:
        """An answer arrives that needs a closer look."""
        if moment is self._awaited:
            now = self._kernel.now
            if not self._look(now):
                self.unfold(before_arrivals=True)
            elif self._until_us != NOT_WAITING:
                self._wait(now, self._until_us)

    def _look(self, now: int) -> bool:
        """Take answers one by one until one brings records; False: the client has to do it."""
        for flight in list(self._flights.values()):
            if flight.arrives_us <= now:
                if not self._serve([flight], now):
                    return False
                self._clock.polled_us = now
                if self._until_us == NOT_WAITING:
                    break
        return True

    def is_overtaken(self, now: int) -> bool:
        """Return whether retention has overtaken a position not asked for yet: all are."""
        del now
        return False

    def on_timer(self, timer: str) -> bool:
        """Pass a timer that fires now to the client, if it has an effect while it is calm.

        Timers of equal times fire in order of name: a poll that ends now may be first.
        """
        if timer in (POLL, RETRY):
            return False
        now = self._kernel.now
        waiting = self._until_us != NOT_WAITING and self._ahead is None
        returns = waiting and now >= self._ends_us
        self.unfold()
        if returns and timer > POLL:
            self._process.wake_poll()
        return True

    def _waited(self, moment: Moment) -> None:
        """The poll is over without records, or the client has something to do."""
        if moment is not self._awaited:
            return
        now = self._kernel.now
        if self._process.timers.due(now):
            self.unfold()
            return
        if now >= self._due_us:
            self.unfold()
            self._process.wake_poll()
            return
        self._until_us = NOT_WAITING
        if not self.poll(now):
            self._app.poll()

    # -- records -----------------------------------------------------------------------------------

    def _serve(self, arrived: list[FetchInFlight], now: int) -> bool:
        """Hand out what some answers brought and ask their brokers again.

        False, and nothing done, where that takes more than one poll or an answer is an error.
        """
        if len(arrived) > 1:
            arrived = seen_by_one_poll(arrived, self._last_tick(now))
        brought = [(flight, flight.brings(self._limit)) for flight in arrived]
        found: Found = []
        for _, part in brought:
            if part is None:
                return False
            found += part
        if len(arrived) > 1 and sum([entry[1] for entry in found]) >= self._limit:
            return False
        batch = batch_of(found, now, self._plan) if found else None
        for flight, part in brought:
            self._hand_out(flight, part or [])
        if len(arrived) > 1:
            arrived.sort(key=lambda flight: self._fetcher.place_of(flight.broker))
        for flight in arrived:
            self._ask_again(flight, now)
        if batch is not None:
            self._work(batch)
        return True

    def _last_tick(self, now: int) -> int:
        """Return when the heartbeat thread last handled what had arrived."""
        beat = self._client.state.beat
        assert beat is not None, "a calm client has a heartbeat thread"
        return last_tick(beat, self._client.consumer, now)

    def _hand_out(self, flight: FetchInFlight, found: Found) -> None:
        """Move the session past the records of an answer."""
        for want, count, following in found:
            want.offset += count
            want.when_us = following
            flight.wants.answered(want.partition)

    def _ask_again(self, flight: FetchInFlight, now: int) -> None:
        """Send the next fetch to the broker that has answered."""
        self._counts["Fetch"] += 1
        flight.send(now)
        if len(self._flights) > 1:
            del self._flights[flight.broker]
            self._flights[flight.broker] = flight

    # -- work --------------------------------------------------------------------------------------

    def _work(self, batch: Batch) -> None:
        """Make the handler process the records that poll returned."""
        self._until_us = NOT_WAITING
        self._batch = batch
        self._app.work_on(batch)
        when = batch.end_us(batch.count - 1)
        self._awaited = self._push(when, self._as_application, self._worked)

    def _worked(self, moment: Moment) -> None:
        """The batch is done: poll again."""
        if moment is not self._awaited:
            return
        now = self._kernel.now
        self.catch_up(now)
        batch, self._batch = self._batch, None
        assert batch is not None, "work ended that was not begun"
        self._finished.end(batch)
        if not self.poll(now):
            self._app.poll()

    def write(self) -> None:
        """Count what was finished since the last time as processed."""
        self._finished.write()
