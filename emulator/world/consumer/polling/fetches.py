"""Fetches as arithmetic: the time and the content of brokers' answers.

A broker answers a fetch when it has ``fetch.min.bytes``, or after ``fetch.max.wait.ms``
(``DelayedFetch``). This time is known as soon as the fetch is sent, because arrivals are
arithmetic; it is computed again for fetches in flight whenever a broker stops or a leader changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.shown_log import ShownLog
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.polling.fetch_answers import answer_to
from emulator.world.consumer.polling.fetch_in_flight import (
    AT_ONCE,
    FetchInFlight,
    Reader,
    Want,
    comes_again,
    visible_us,
)
from emulator.world.kernel import Moment, Rank
from emulator.world.network import Way, broker_name, broker_party
from emulator.world.run import Run
from protocols.consumer.fetch_session import FetchSession
from protocols.messages import (
    Disconnected,
    Envelope,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    Header,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assignors.types import TopicPartition
    from protocols.consumer.positions import Reading

NO_HEADER = Header("", -1)


class SentBefore(NamedTuple):
    """A fetch that was in flight when another request was sent over its connection."""

    fetch: FetchInFlight
    asked_us: int


class Fetches:
    """All fetches in flight, and the fetch sessions of the brokers."""

    def __init__(self, run: Run, topics: Topics, brokers: Brokers) -> None:
        self._run = run
        self._brokers = brokers
        self._topics = topics
        self._in_flight: dict[str, dict[int, FetchInFlight]] = {}
        self._sessions: dict[str, dict[int, FetchSession[Want]]] = {}
        self._sent_us: dict[FetchInFlight, int] = {}
        """Of fetches in flight, for the trace of a run."""

    def send(self, process: Reader, broker: int, request: FetchRequest) -> None:
        """Take a fetch on its way to ``broker``."""
        now = self._run.kernel.now
        if request.closes_session and broker in self.of(process):
            fetch = self.of(process)[broker]
            fetch.send_close(now)
            self._plan(fetch, now)
            return
        sessions = self._sessions.setdefault(process.name, {})
        session = sessions.get(broker)
        if session is None:
            session = sessions[broker] = FetchSession()

        def keep(want: Want | None, part: FetchPartition) -> Want:
            log = self._shown_to(process, broker, part.partition)
            if want is None or want.offset != part.offset or want.log is not log:
                want = Want(part.partition, part.offset, log)
            want.epoch = part.current_leader_epoch
            want.when_us = visible_us(want, broker, now)
            return want

        session.renew(request.partitions, keep)
        waits, ways = not request.closes_session, self._ways(process, broker)
        fetch = FetchInFlight(process, broker, session, *ways, waits=waits)
        fetch.send(now)
        if self._run.replay.fetched is not None:
            self._sent_us[fetch] = now
        self.of(process)[broker] = fetch
        self._hold(fetch)
        self._await(fetch)

    def _shown_to(self, process: Reader, broker: int, tp: TopicPartition) -> ShownLog | None:
        committed = process.blueprint.reads_committed
        return self._topics.shown_by(broker, tp, committed=committed)

    def _ways(self, process: Reader, broker: int) -> tuple[Way, Way]:
        """Return the delays of the two directions."""
        wire, party = self._run.wire, broker_party(broker)
        return wire.link(process.party, party), wire.link(party, process.party)

    def _hold(self, fetch: FetchInFlight) -> None:
        """Delay the answer while the broker does not run or the link is cut."""
        if not self._reachable(fetch):
            fetch.ready_us = fetch.arrives_us = NEVER

    def _reachable(self, fetch: FetchInFlight) -> bool:
        if not self._brokers.answers(fetch.broker):
            return False
        wire = self._run.wire
        if not wire.is_cut:
            return True
        here, there = fetch.process.blueprint.name, broker_name(fetch.broker)
        return wire.passes(here, there) and wire.passes(there, here)

    # -- arrival ---------------------------------------------------------------------------------

    def _await(self, fetch: FetchInFlight) -> None:
        """Deliver the answer as an event; without one the request times out (``NetworkClient``)."""
        fetch.live = True
        index = fetch.process.blueprint.index
        if fetch.arrives_us < NEVER:
            when = fetch.arrives_us
            arrival = self._run.kernel.at(
                when, Rank.RECORDS_AT_CLIENT, index, lambda _: self._arrive(fetch)
            )
            arrival.recurs = True
            return
        timeout = fetch.process.blueprint.settings.request_timeout_ms * 1_000
        when = max(self._run.kernel.now, fetch.asked_us + timeout)
        self._run.kernel.at(when, Rank.CLIENT_TIMER, index, lambda _: self._late(fetch))

    def before(self, process: Reader, broker: int) -> SentBefore | None:
        """Return the fetch that a process has sent to a broker and that has not been answered yet."""
        if process.blueprint.profile.fetches_apart:
            return None
        fetch = self.of(process).get(broker)
        return None if fetch is None else SentBefore(fetch, fetch.asked_us)

    def answer_behind(self, before: SentBefore | None, answer: Callable[[], None]) -> None:
        """Answer a request now, or right behind the fetch that was sent before it.

        A broker answers the requests of one connection in turn.
        """
        if before is not None and self._is_in_flight(before):
            fetch = before.fetch
            if self._run.kernel.now < fetch.ready_us:
                fetch.waiting_answers += (answer,)
                self._await_behind(fetch)
                return
        answer()

    def _is_in_flight(self, sent: SentBefore) -> bool:
        """Return whether a fetch is still that one: a poll loop sends it again after each answer."""
        if not self._current(sent.fetch):
            return False
        sent.fetch.process.unfold()
        return self._current(sent.fetch) and sent.fetch.asked_us == sent.asked_us

    def _await_behind(self, fetch: FetchInFlight) -> None:
        """Give the answers behind a fetch when that is answered; a later plan replaces this one."""
        fetch.answers_us = ready_us = fetch.ready_us
        if not fetch.waiting_answers or ready_us >= NEVER:
            return

        def give(_: Moment) -> None:
            if fetch.answers_us == ready_us:
                answers, fetch.waiting_answers = fetch.waiting_answers, ()
                for answer in answers:
                    answer()

        self._run.kernel.at(ready_us, Rank.AT_BROKER, fetch.process.blueprint.index, give)

    def _current(self, fetch: FetchInFlight) -> bool:
        mine = self._in_flight.get(fetch.process.name)
        return mine is not None and mine.get(fetch.broker) is fetch

    def _arrive(self, fetch: FetchInFlight) -> None:
        now = self._run.kernel.now
        if fetch.live and self._current(fetch) and fetch.arrives_us == now:
            self._report(fetch, fetch.asked_us)
            fetch.process.receive(Envelope(NO_HEADER, self.take(fetch)))

    def _late(self, fetch: FetchInFlight) -> None:
        if fetch.live and self._current(fetch) and fetch.arrives_us >= NEVER:
            self._report(fetch, None)
            self.drop(fetch.process, fetch.broker)
            fetch.process.receive(Envelope(NO_HEADER, Disconnected(fetch.broker)))

    def _report(self, fetch: FetchInFlight, asked_us: int | None) -> None:
        """Pass a fetch to the trace of the run, if there is one; None: it was never answered."""
        fetched, sent_us = self._run.replay.fetched, self._sent_us.pop(fetch, None)
        if fetched is None or sent_us is None:
            return
        from emulator.events.messages import FETCH, MessageCarried  # noqa: PLC0415  a plain run has no trace

        reader, broker = fetch.process.party.name, broker_name(fetch.broker)
        request = f"{reader} to {broker} at {sent_us}"
        fetched(MessageCarried(FETCH, True, reader, broker, request, sent_us, asked_us, ""))
        if asked_us is not None:
            answer = (broker, reader, request, fetch.ready_us, fetch.arrives_us, "")
            fetched(MessageCarried(FETCH, False, *answer))

    def take(self, fetch: FetchInFlight) -> FetchResponse:
        """Take a fetch off the wire and return its answer, as of when the broker gave it."""
        self.drop(fetch.process, fetch.broker)
        return answer_to(fetch)

    def answered_to(self, process: Reader, tp: TopicPartition) -> int:
        """Return the end of what a process has got of a partition; 0 if it has got nothing."""
        wants = (s.cached.get(tp) for s in self._sessions.get(process.name, {}).values())
        return max((want.answered for want in wants if want is not None), default=0)

    # -- fetches that a poll loop looks for itself -------------------------------------------------

    def of(self, process: Reader) -> dict[int, FetchInFlight]:
        """Return the fetches of one process that are in flight, by broker."""
        return self._in_flight.setdefault(process.name, {})

    def undisturbed(
        self, process: Reader, by_leader: Mapping[int, Mapping[TopicPartition, Reading]], now: int
    ) -> dict[int, FetchInFlight] | None:
        """Return the fetches of one process by broker, also those that are not in flight.

        Those that a broker does not answer are left out: they end by an event. None: some broker
        was not asked for exactly what is read from it, or would not answer with records alone.
        """
        mine = self.of(process)
        sessions = self._sessions.get(process.name, {})
        found: dict[int, FetchInFlight] = {}
        for broker, readings in by_leader.items():
            fetch, session = mine.get(broker), sessions.get(broker)
            if fetch is not None and fetch.arrives_us >= NEVER:
                continue
            if session is None or session.cached.keys() != readings.keys():
                return None
            if fetch is None:
                fetch = FetchInFlight(process, broker, session, *self._ways(process, broker))
            elif not fetch.asks_for(readings):
                return None
            if not (self._reachable(fetch) and self._is_readable(fetch, readings, now)):
                return None
            found[broker] = fetch
        others = (fetch for broker, fetch in mine.items() if broker not in found)
        return found if all(fetch.arrives_us >= NEVER for fetch in others) else None

    def _is_readable(
        self, fetch: FetchInFlight, readings: Mapping[TopicPartition, Reading], now: int
    ) -> bool:
        """Return whether a broker shows all partitions read from it, now and when last asked."""
        for tp, want in fetch.wants.cached.items():
            log, reading = want.log, readings[tp]
            if log is None or log is not self._shown_to(fetch.process, fetch.broker, tp):
                return False
            epochs = {want.epoch, reading.current.epoch}
            if any(log.replicas.refusal(fetch.broker, epoch) for epoch in epochs):
                return False
            offsets = (want.offset, reading.position)
            if want.when_us == AT_ONCE or min(offsets) < log.start or max(offsets) > log.end(now):
                return False
        return True

    def go_live(self, process: Reader) -> None:
        """Make all answers of a process arrive as events again."""
        for fetch in self.of(process).values():
            if not fetch.live:
                self._await(fetch)

    # -- periods -----------------------------------------------------------------------------------

    def relative(
        self, process: Reader, positions: Mapping[TopicPartition, int], now: int
    ) -> object:
        """Return the fetches and the records to come, relative to *now* and to the positions.

        None: they are not regular.
        """
        in_flight = self.of(process)
        found: list[object] = [tuple(in_flight)]
        for fetch in self._all_of(process):
            coming = fetch.relative(now, positions, is_in_flight=fetch.broker in in_flight)
            if coming is None:
                return None
            found.append(coming)
        return tuple(found)

    def _all_of(self, process: Reader) -> list[FetchInFlight]:
        """Return a fetch for each broker that is read from and has a session, in flight or not."""
        in_flight, found = self.of(process), []
        for broker, session in self._sessions.get(process.name, {}).items():
            fetch = in_flight.get(broker)
            if fetch is None and broker in process.client.consumer.positions.by_leader:
                fetch = FetchInFlight(process, broker, session, *self._ways(process, broker))
            if fetch is not None:
                found.append(fetch)
        return found

    def repeats(
        self,
        process: Reader,
        positions: Mapping[TopicPartition, int],
        later_us: int,
        records: Mapping[TopicPartition, int],
    ) -> bool:
        """Return whether the records that come later by that are further by *records*.

        Those in flight, and those behind the positions: a member may have no fetch in flight.
        """
        if not all(fetch.repeats(later_us, records) for fetch in self.of(process).values()):
            return False
        return all(
            want.log is None or comes_again(want.log, positions, want.partition, later_us, records)
            for fetch in self._all_of(process)
            for want in fetch.wants.cached.values()
        )

    def move(self, process: Reader, later_us: int, records: Mapping[TopicPartition, int]) -> None:
        """Move the fetches of a process by whole periods; the kernel has moved their arrivals."""
        for fetch in self._all_of(process):
            fetch.move(later_us, records)

    # -- disturbances ----------------------------------------------------------------------------

    def plan_again(self) -> None:
        """Compute the times of all answers again after a change of brokers, network or leaders."""
        now = self._run.kernel.now
        for name in sorted(self._in_flight):
            for fetch in list(self._in_flight[name].values()):
                for want in fetch.wants.cached.values():
                    want.log = self._shown_to(fetch.process, fetch.broker, want.partition)
                    want.when_us = visible_us(want, fetch.broker, now)
                if fetch.ready_us > now:
                    self._plan(fetch, now)

    def _plan(self, fetch: FetchInFlight, now: int) -> None:
        fetch.plan(max(fetch.asked_us, fetch.close_asked_us, now))
        self._hold(fetch)
        self._await(fetch)
        self._await_behind(fetch)

    def append(self, tp: TopicPartition, at_us: int) -> None:
        """Append a record that a consumer produces; fetches in flight may be answered earlier.

        A topic that the scenario does not have takes it too: nobody reads from it.
        """
        log = self._topics.find(tp)
        if log is None:
            return
        log.append(at_us)
        now = self._run.kernel.now
        for name in sorted(self._in_flight):
            for fetch in list(self._in_flight[name].values()):
                want = fetch.wants.cached.get(tp)
                if want is not None and want.reads(log) and fetch.ready_us > now:
                    want.when_us = visible_us(want, fetch.broker, now)
                    self._plan(fetch, now)

    def overtaken(self) -> bool:
        """Return whether retention has overtaken what some fetch asks for, or will ask for."""
        return any(
            want.log is not None and want.offset < want.log.start
            for mine in self._in_flight.values()
            for fetch in mine.values()
            for want in fetch.wants.cached.values()
        )

    def forget(self, process: Reader) -> None:
        """Discard the fetches and connections of a process that has ended."""
        self._in_flight.pop(process.name, None)
        self._sessions.pop(process.name, None)

    def disconnect(self, broker: int) -> list[str]:
        """A broker died: return the names of the processes that had a connection to fetch over."""
        for mine in self._in_flight.values():
            for fetch in list(mine.values()):
                fetch.process.unfold()
        for mine in self._in_flight.values():
            mine.pop(broker, None)
        return [
            name
            for name, sessions in sorted(self._sessions.items())
            if sessions.pop(broker, None) is not None
        ]

    def drop(self, process: Reader, broker: int) -> None:
        """Forget the fetch of one process to one broker."""
        self.of(process).pop(broker, None)
