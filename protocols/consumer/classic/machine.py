"""The Java consumer's client of the classic protocol (``ClassicKafkaConsumer``).

The control plane is a frozen :class:`~protocols.consumer.classic.state.ClientState`, changed by
the functions of this package; :class:`~protocols.consumer.classic.thread.ApplicationThread` owns the
data plane, knows whether poll is waiting, and skips the group's part of a poll while the group is calm,
which is nearly always. This class adds the calls of the application and of the host.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from protocols.consumer import committing
from protocols.consumer.calls import CloseOperation, Failed, IllegalCallError
from protocols.consumer.classic import (
    application,
    duties,
    heartbeat,
    membership,
    positions,
    rejoin,
    thread,
)
from protocols.consumer.classic.async_commits import due_at_poll
from protocols.consumer.classic.calm import POLL, CalmPoll, moved_responses
from protocols.consumer.classic.periods import Recurring, moves_requests, relative_state
from protocols.consumer.classic.phases import (
    Calling,
    Closing,
    CommittingSync,
    Joining,
    is_in_close,
)
from protocols.consumer.classic.responses import pump, respond
from protocols.consumer.classic.state import ClientState
from protocols.consumer.classic.thread import ApplicationThread
from protocols.consumer.reader import NEVER
from protocols.consumer.requests import Renumbered, begin_call
from protocols.machine import Call, SetTimer, Step
from protocols.messages import Envelope, FetchResponse, JoinGroupResponse
from protocols.values import replace


class Client(ApplicationThread, Recurring):
    """The client side of the classic protocol for one consumer."""

    # -- the application's calls ---------------------------------------------------------------

    def poll(self, now: int, timeout_us: int) -> Step[ClientState]:
        """Poll; the step contains ``Return(records)``, or the machine waits and returns later."""
        self._poll_until = now + timeout_us
        state = due_at_poll(self.state, self.consumer, now)
        self.state = positions.begin_poll(begin_call(state))
        effects = self._become(thread.drop_late_join(self.state, self.consumer, now))
        return Step(self.state, effects + self._turn(now))

    def commit_sync(self, now: int, offsets: committing.GivenOffsets = None) -> Step[ClientState]:
        """Commit and wait; None commits all records returned by poll. Ends in ``Return``."""
        wanted = committing.given_offsets(self.consumer, offsets)
        state = begin_call(self.state)
        return self._call(application.commit_sync(state, self.consumer, wanted, now), now)

    def commit_async(self, now: int, offsets: committing.GivenOffsets = None) -> Step[ClientState]:
        """Commit without waiting; None commits all records returned by poll."""
        wanted = committing.given_offsets(self.consumer, offsets)
        state = begin_call(self.state)
        return self._call(application.commit_async(state, self.consumer, wanted, now), now)

    def close(
        self, now: int, timeout_us: int, operation: CloseOperation = CloseOperation.DEFAULT
    ) -> Step[ClientState]:
        """Close with final commit, listener call and LeaveGroup; ends in ``Return(Closed())``."""
        self._poll_until = None
        for _, response in self._arrived:
            self.consumer.fetcher.arrived(response)
        self._arrived = []
        state = begin_call(self.state)
        step = application.begin_close(state, self.consumer, timeout_us, operation, now)
        return self._call(step, now)

    def _call(self, step: Step[ClientState], now: int) -> Step[ClientState]:
        pumps = self._arrived or step.state.inbox
        return self._took(step.then(lambda s: self._pump_once(s, now)) if pumps else step, now)

    def subscribe(self, now: int, topics: tuple[str, ...]) -> Step[ClientState]:
        """Replace the subscription with these topics; the next poll joins with them."""
        self.consumer = replace(self.consumer, topics=topics, matches=None)
        step = membership.change_subscription(self.state, self.consumer, now)
        self.consumer.fetcher.pending = membership.unsubscribed_partitions(step.state)
        return self._took(step, now)

    def unsubscribe(self, now: int) -> Step[ClientState]:
        """Drop the subscription; ends in ``Return``."""
        return self._took(application.unsubscribe(self.state, self.consumer, now), now)

    def called(self, call: Call, now: int, threw: Failed | None = None) -> Step[ClientState]:
        """Continue after a listener call returned, or threw; close() ignores the exception."""
        calling = self.state.app
        if not isinstance(calling, Calling):
            raise IllegalCallError(f"no listener call is running: {call}")
        failed = calling.thrown or threw
        if failed is not None and calling.poll_until_us is not None:
            step = rejoin.on_listener_threw(self.state, self.consumer, call, failed, now)
            return Step(self.state, self._become(step))
        step = thread.after_call(self.state, self.consumer, calling, call, now)
        if calling.closing is not None:
            step = step.then(lambda s: self._pump_once(s, now))
        if calling.poll_until_us is None:
            return self._took(step, now)
        effects = self._become(step)
        if isinstance(self.state.app, Calling):
            return Step(self.state, effects)
        self._poll_until = calling.poll_until_us
        return Step(self.state, effects + self._turn(now))

    # -- for a host that runs the poll loop itself ------------------------------------------------

    def calm(self, now: int) -> tuple[int, CalmPoll] | None:
        """Return a poller that replaces this client, and until when (us); None: not now.

        Until then only records may arrive; call :meth:`resume` before any other event. If that time
        has come, the next poll begins with :meth:`enter`.
        """
        if self._poll_until is not None or not self.consumer.fetcher.undisturbed:
            return None
        if any(part.error for _, response in self._arrived for part in response.partitions):
            return None
        if self._settled and duties.due_us(self.state, self.consumer):
            due = self._due_us
            return due, CalmPoll(self.consumer, self.state.beat, due, self._arrived)
        if self._awaits_round and duties.reads_on(self.state, self.consumer):
            due = duties.round_due_us(self.state, self.consumer)
            return (due, CalmPoll(self.consumer, None, NEVER, self._arrived)) if now < due else None
        return None

    @property
    def _due_us(self) -> int:
        """When a settled client has a duty in poll; 0: in its next one, after a response."""
        return 0 if duties.has_responses(self.state) else duties.due_us(self.state, self.consumer)

    def enter(self, calm: CalmPoll, now: int) -> Step[ClientState]:
        """Do the group's part of the poll that begins now; :meth:`lent` or :meth:`continues` follows."""
        self.resume(calm)
        duties.begin_turn(self.state, self.consumer, now)
        effects, fetcher = self._group_turn(now, calm.until_us), self.consumer.fetcher
        if self._poll_until is not None and self.state.inbox and not fetcher.returns_records:
            effects += self._become(self._pump_once(self.state, now))
            effects += self._group_turn(now, calm.until_us)
        return Step(self.state, effects)

    def continues(self, entered: Step[ClientState], now: int) -> Step[ClientState]:
        """Return the whole step of a poll after :meth:`enter`, if no poller goes on."""
        return Step(self.state, entered.effects + self._after_group(now))

    def polls_in_vain_until_us(self, now: int) -> int | None:
        """Return until when (us) polls return nothing and send nothing; None: not now.

        This holds as long as no response arrives and no timer fires.
        """
        if not (self._calm or self._awaits_round) or self._arrived or self._poll_until is not None:
            return None
        due = duties.idle_until_us(self.state, self.consumer, is_calm=self._calm)
        return due if due > now else None

    def resume(self, calm: CalmPoll) -> Step[ClientState]:
        """Continue from the state of that poller."""
        self._arrived = calm.unread
        if calm.waits_for is None:
            return Step(self.state)
        self._poll_until = calm.until_us
        return Step(self.state, (SetTimer(POLL, calm.wait_us),))

    def lent(self, calm: CalmPoll, now: int) -> int | None:
        """Let that poller continue after the client handled something; return until when (us).

        None, and nothing is done: the client has to continue by itself.
        """
        in_poll, waits = self._poll_until is not None, calm.waits_for is not None
        if not self._settled or in_poll != waits:
            return None
        if waits and duties.is_due(self.state, self.consumer, now):
            return None
        self._poll_until = None
        return self.go_on(calm)

    def go_on(self, calm: CalmPoll) -> int:
        """Pass the deadlines of this client to that poller; return until when (us) it may poll."""
        due_us = self._due_us
        calm.go_on(self.state.beat, due_us)
        return due_us

    def beat(self, now: int, response: Envelope | None = None) -> Step[ClientState] | None:
        """Send a heartbeat, or take the *response* to one, while the poller waits; None: not now."""
        if not self._calm:
            return None
        step = thread.beat(self.state, self.consumer, now, response)
        return None if step is None else Step(self.state, self._become(step))

    @property
    def is_at_rest(self) -> bool:
        """Whether only records, a heartbeat or a commit can happen next, or their responses be read."""
        return self._settled and self.consumer.fetcher.connected and moves_requests(self.state)

    def relative(self, now: int, calm: CalmPoll | None = None) -> tuple[object, ...]:
        """Return what a client at rest, or *calm*, does from *now* on."""
        poll = (self._poll_until, self._arrived) if calm is None else (calm.returns_us, calm.unread)
        return relative_state(self.state, self.consumer, *poll, now)

    def move(
        self, later_us: int, records: Mapping[TopicPartition, int], numbers: Renumbered
    ) -> None:
        """Move a client at rest by whole periods with so many records, and later *numbers*."""
        self._arrived = moved_responses(self._arrived, later_us, records)
        Recurring.move(self, later_us, records, numbers)

    # -- the network ---------------------------------------------------------------------------

    def handle(self, envelope: Envelope, now: int) -> Step[ClientState]:
        """Receive a response; it is handled now only if a thread polls the network."""
        body = envelope.body
        if type(body) is FetchResponse:
            return self._fetched(body, now)
        if self._pumping() and not self.state.inbox:
            waits = not self.consumer.profile.wakes_for_group and duties.waits_on(
                self.state, self.consumer, body, self._poll_until, now
            )
            step = respond(self.state, self.consumer, envelope, now)
            return Step(self.state, self._become(step) + waits) if waits else self._took(step, now)
        after = replace(self.state, inbox=(*self.state.inbox, envelope))
        if self._pumping():
            return self._took(pump(after, self.consumer, now), now)
        if self._joins_on(body):
            return Step(self.state, self._become(pump(after, self.consumer, now)))
        effects = self._become(heartbeat.wake_for_responses(after, self.consumer, now))
        return Step(self.state, effects)

    def _joins_on(self, body: object) -> bool:
        """Return whether the thread of the network sends SyncGroup though the application does not wait.

        The event loop of kafka-python awaits the answer to JoinGroup (``_do_join_and_sync_async``).
        """
        joins = type(body) is JoinGroupResponse and isinstance(self.state.future, Joining)
        return joins and not self.consumer.profile.takes_late_joins

    def _fetched(self, response: FetchResponse, now: int) -> Step[ClientState]:
        """Buffer records at once if poll waits for them, else when a thread polls the network.

        close() looks at no records, nor at their errors.
        """
        if self._poll_until is None and is_in_close(self.state.app):
            self.consumer.fetcher.arrived(response)
            return self._took(Step(self.state), now)
        if self._poll_until is None:
            self._arrived.append((now, response))
            return Step(self.state)
        self._buffer(response)
        if duties.returns_first(self.state, self.consumer, is_calm=self._skips_group(now)):
            return Step(self.state, self._collect(now, self._poll_until, ends_wait=True))
        return Step(self.state, self._again(now))

    def _pumping(self) -> bool:
        """Whether the application thread is inside a call that waits for the network."""
        return self._poll_until is not None or isinstance(self.state.app, (CommittingSync, Closing))

    # -- timers ----------------------------------------------------------------------------------

    def wake(self, timer: str, now: int) -> Step[ClientState]:
        """Handle the end of a timer."""
        if timer in (POLL, membership.RETRY):
            return Step(self.state, self._again(now))
        if duties.beats_later(self.state, self.consumer, timer, self._poll_until):
            return Step(self.state, (heartbeat.next_turn(self.state, self.consumer, now),))
        if not thread.is_awaited(self.state, timer, now):
            return Step(self.state, self._become(thread.rearmed(self.state, timer)))
        return self._took(thread.TIMERS[timer](self.state, self.consumer, now), now)

    def check(self) -> None:
        """Assert the invariants (in tests, and in debug runs of the world)."""
        self.consumer.fetcher.check()
        duties.check(self.state, self.consumer, is_in_poll=self._poll_until is not None)
