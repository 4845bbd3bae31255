"""One incarnation of a consumer: a process with a client in it, from its start to its end.

It carries out what its client asks (the wire, timers, listener calls) and runs the
application's loop around it: poll, work, commit by policy, poll again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import ConsumerPaused, ConsumerResumed, ConsumerStopped, ListenerCalled
from emulator.scenario.model import FailListener
from emulator.world import consumer
from emulator.world.cluster.topics import Topics
from emulator.world.consumer.application import Application
from emulator.world.consumer.blueprints import Blueprint, new_client, runs_out_us
from emulator.world.consumer.client_events import ClientEvents
from emulator.world.consumer.polling.exchanges import RoundWait
from emulator.world.consumer.polling.fetches import Fetches
from emulator.world.consumer.polling.folded_time import Live, MemberTime
from emulator.world.consumer.polling.live_reasons import always_live, live_now
from emulator.world.consumer.polling.poll_loop import PollLoop
from emulator.world.consumer.progress import Owners, Progress
from emulator.world.kernel import Deadlines, Rank
from emulator.world.network import Party
from emulator.world.router import Router, kind_of
from emulator.world.run import Run
from protocols.consumer.calls import Closed, CommitResult, Failed
from protocols.consumer.classic.machine import Client as ClassicClient
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.requests import Renumbered, renewed
from protocols.machine import Call, CancelTimer, Close, Report, Return, Send, SetTimer, Unheard
from protocols.messages import Envelope, FetchResponse

if TYPE_CHECKING:
    from emulator.world.consumer.assignor_run import AssignorRun
    from protocols.consumer.classic.calm import CalmPoll
    from protocols.machine import Effect, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerContext:
    """What the consumers of a run use."""

    run: Run
    topics: Topics
    fetches: Fetches
    router: Router
    events: ClientEvents
    failing: dict[str, FailListener] = field(default_factory=dict)
    """By consumer: the fault that makes its rebalance listener throw."""


class Process:
    """A running consumer."""

    def __init__(
        self,
        blueprint: Blueprint,
        incarnation: int,
        context: ConsumerContext,
        owners: Owners,
        on_end: Callable[[Process, int], None],
    ) -> None:
        """Create incarnation number *incarnation*; *on_end* is called with the event of its end."""
        run = context.run
        self.blueprint: Final = blueprint
        self.run: Final = run
        self.fetches: Final = context.fetches
        self._context = context
        self._on_end = on_end
        self.incarnation: Final = incarnation
        self.name: Final = f"{blueprint.name}.{incarnation}"
        self.party: Final = Party(blueprint.name, "clients")
        self.index: Final = blueprint.index
        self.alive = True
        self.ended = run.kernel.env.event()
        """Triggered when the process ends."""

        self.progress = Progress(
            blueprint, run.recorder, owners, self.settle, self.unfold, context.topics.find
        )
        self.client = new_client(blueprint, self.name, run.member_id)
        self.application: Application = Application(self)
        self.time: Final = MemberTime(run.folded, run.kernel.now, folding=run.folding)
        self._live: Final = always_live(blueprint) if run.folding else Live.EXACT
        self._loop = PollLoop(self, self.client) if self._live is None else None
        waits = run.folding and isinstance(self.client, ClassicClient)
        self._wait = RoundWait(self, self.client) if waits else None  # type: ignore[arg-type]  # classic
        self.timers: Final = Deadlines(run.kernel, Rank.CLIENT_TIMER, blueprint.index, self._wake)
        self._effects: list[Effect] = []
        self._busy = False
        self._held: list[Callable[[], None]] | None = None
        self._unread: list[Envelope] = []
        self._assignor: AssignorRun | None = None
        self.calls: dict[str, Callable[[], None]] = {}
        """By name: what the application calls on its consumer before the next poll."""

    # -- life ----------------------------------------------------------------------------------

    def start(self, cause: int | None) -> None:
        """Start the process: subscribe and poll."""
        self._context.events.started(self, self.incarnation, cause)
        self.application.poll()

    def stop(self, how: str, cause: int | None, reason: str = "") -> int:
        """End the process at once; return the event of its end."""
        self.unfold()
        stopped = ConsumerStopped(
            consumer=self.blueprint.name, group=self.blueprint.group.id, how=how, reason=reason
        )
        self.settle()
        self.progress.write_all(self.progress.owned)
        self.time.end(self.run.kernel.now)
        self.alive, self._held = False, None
        self.timers.close()
        self._effects.clear()
        self.application.abandon()
        event = self.run.recorder.write(stopped, cause)
        why = how if how in ("closed", "failed") else "crashed"
        unfinished = list(self.application.records_in_progress())
        self.progress.close_retired()
        for tp in self.progress.owned:
            self.progress.close(tp, why, event)
        for tp, offset, began_us in unfinished:
            self.progress.partly(tp, offset, began_us, event)
        self._on_end(self, event)
        self.ended.succeed()
        return event

    def polls(self, now: int) -> bool:
        """Poll by arithmetic if the consumer is calm; return whether it is."""
        live = live_now(self._live, self.client) if self._loop is None else self._loop.poll(now)
        self.time.go_on(now, live)
        return live in (None, Live.INTERRUPTED)

    def polls_in_vain(self, now: int) -> bool:
        """Poll by arithmetic if polls return nothing for a while; return whether they do."""
        return self._wait is not None and self._wait.begin(now)

    def unfold(self) -> None:
        """Stop polling by arithmetic before an event that affects the process."""
        if self._wait is not None:
            self._wait.end()
        if self._loop is not None:
            self._loop.unfold()

    def calculated(self) -> CalmPoll | None:
        """Play everything up to the end of now; return the poll by arithmetic that goes on, if one does."""
        if self._wait is not None:
            self._wait.end()
        return None if self._loop is None else self._loop.calculated(self.run.kernel.now)

    def move(
        self, later_us: int, records: Mapping[TopicPartition, int], numbers: Renumbered
    ) -> None:
        """Move a consumer at rest by whole periods with so many records, and later *numbers*."""
        self.client.move(later_us, records, numbers)
        self.application.move(later_us, records)
        self.progress.move(later_us, records)
        self.time.skip(later_us)
        self.fetches.move(self, later_us, records)
        if self._loop is not None:
            self._loop.moved()

    def is_overtaken(self) -> bool:
        """Return whether retention has removed records that it would poll by arithmetic."""
        return self._loop is not None and self._loop.is_overtaken(self.run.kernel.now)

    @property
    def at_rest(self) -> bool:
        """Whether all effects of its client have been carried out."""
        return not self._effects

    @property
    def busy(self) -> bool:
        """Whether it is carrying out effects of its client."""
        return self._busy

    def leave(self, *, mid_batch: bool) -> None:
        """Shut the process down in order (SIGTERM)."""
        self.unfold()
        if not self.hold(lambda: self.leave(mid_batch=mid_batch), client=True):
            self.application.shutdown.leave(mid_batch=mid_batch)

    def close_client(self) -> None:
        """Call close() on the consumer, which ends the process."""
        timeout_us, operation = self.blueprint.close_timeout_us, self.blueprint.close_operation
        self.carry_out(self.client.close(self.run.kernel.now, timeout_us, operation))

    def settle(self) -> None:
        """Count the records that the handler has finished by now, before progress is read."""
        if self._loop is not None:
            self._loop.catch_up(self.run.kernel.now)
            self._loop.write()
        self.application.settle()

    def ask(self, name: str, call: Callable[[], None], cause: int) -> None:
        """Make the application call its consumer before its next poll."""
        self.unfold()
        self.calls[name] = call
        self.run.causes.disturbed[self.blueprint.name] = cause

    def make_calls(self) -> None:
        """Make these calls, as an application does between two polls."""
        calls, self.calls = self.calls, {}
        for call in calls.values():
            call()

    @property
    def paused(self) -> bool:
        """Whether the whole process is paused."""
        return self._held is not None

    def pause(self, cause: int) -> int:
        """Pause the whole process; arrivals and due timers are held back."""
        self.unfold()
        self.renew_timers()
        self._held = []
        self.application.pause()
        return self.run.recorder.write(ConsumerPaused(consumer=self.blueprint.name), cause)

    def renew_timers(self) -> None:
        """Set the timers of requests for those that are in flight."""
        client: Any = self.client
        step = renewed(client.state)
        client.state = step.state
        for effect in step.effects:
            _CARRIED_OUT[type(effect)](self, effect)

    def resume(self, cause: int) -> None:
        """Resume: held-back actions run now, in their order, before responses that have arrived.

        A Java thread that waited on the network finds its timeout expired before it reads responses
        that arrived meanwhile (seen in all captures of paused processes), and both before what arrives now.
        """
        held, self._held = self._held or [], None
        self.run.recorder.write(ConsumerResumed(consumer=self.blueprint.name), cause)
        self.application.resume()
        held += [partial(self.receive, envelope) for envelope in self._unread]
        self._unread = []
        for action in held:
            if self.alive:
                self.unfold()
                action()

    def hold(self, action: Callable[[], None], *, client: bool = False) -> bool:
        """Postpone an action if the process is paused, or one of its *client* while the assignor runs."""
        assignor = None if self.paused else self._assignor
        held = assignor.later if assignor and (client or assignor.in_loop) else self._held
        if held is not None:
            held.append(action)
        return held is not None

    @property
    def request_counts(self) -> Counter[str]:
        """Requests sent in the run, by kind, since they were last written."""
        return self._context.router.counts

    @property
    def listener_fault(self) -> FailListener | None:
        """The fault that makes its listener throw, if there is one."""
        return self._context.failing.get(self.blueprint.name)

    def write_poison_met(self, ranges: Iterable[Handed]) -> None:
        """Write that work on these records begins, if one of them is poisoned."""
        self._context.events.poison_met(self, ranges)

    def write_listener_call(self, call: ListenerCalled) -> int:
        """Write a listener call; return its event."""
        return self._context.events.listened(self, call)

    # -- responses and timers ---------------------------------------------------------------------

    def receive(self, envelope: Envelope) -> None:
        """Receive a response from the wire."""
        if not self.alive:
            return
        if self._held is not None:
            self._unread.append(envelope)
            return
        if self._assignor is not None and self.hold(lambda: self.receive(envelope), client=True):
            return
        if self._loop is not None and self._loop.receive(envelope):
            return
        self.unfold()
        if type(envelope.body) is FetchResponse:
            self.carry_out(self.client.handle(envelope, self.run.kernel.now))
            return
        kind = kind_of(envelope.body)
        if kind in ("JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat"):
            self.run.triggers.reached(self.blueprint.name, f"received {kind}")
        self._take(envelope)

    def _take(self, envelope: Envelope) -> None:
        """Pass a response to the client, unless a fault has just paused or ended the process."""
        if not self.alive or self.hold(lambda: self._take(envelope), client=True):
            return
        if self.blueprint.group.assignor_time is not None:
            self._assignor = consumer.assignor_run.begun(self, envelope, self._context.topics)
        if self._assignor is None:
            self.carry_out(self.client.handle(envelope, self.run.kernel.now))

    def assigned(self, envelope: Envelope) -> None:
        """Go on when the assignor has computed: pass the JoinGroup response to the client."""
        if not self.alive or self._assignor is None:
            return
        if self._held is not None:
            self._held.append(lambda: self.assigned(envelope))
            return
        later, self._assignor = self._assignor.later, None
        self.carry_out(self.client.handle(envelope, self.run.kernel.now))
        for action in later:
            action()

    def _wake(self, timer: str, now: int) -> None:
        if self._loop is not None and not self._loop.on_timer(timer):
            return
        if self._assignor is not None and not self.paused:
            self.timers.set(timer, max(self._assignor.until_us, now))
            return
        if not self.alive or self.hold(lambda: self._wake(timer, self.run.kernel.now)):
            return
        if self._wait is not None:
            self._wait.end(timer)
        self.carry_out(self.client.wake(timer, now))

    # -- effects of its client -------------------------------------------------------------------

    def carry_out(self, step: Step[Any]) -> None:
        """Carry out a step's effects in order, and after them the effects that they cause.

        A fault triggered by one of them may end or pause the process: the rest is dropped or postponed.
        """
        if not self.alive:
            return
        self._effects.extend(step.effects)
        if not self._busy:
            self._carry_out_all()

    def _carry_out_all(self) -> None:
        self._busy = True
        effects, left = self._effects, self.run.kernel.max_in_an_event
        try:
            while effects:
                if self._held is not None:
                    self._held.append(self._carry_out_all)
                    return
                effect = effects.pop(0)
                _CARRIED_OUT[type(effect)](self, effect)
                left -= 1
                if not left:
                    self.run.kernel.stand_still(Rank.APPLICATION, self.index)
        finally:
            self._busy = False

    def _set_timer(self, effect: SetTimer) -> None:
        self.timers.set(effect.name, runs_out_us(self.blueprint, self.client, effect))

    def _cancel_timer(self, effect: CancelTimer) -> None:
        self.timers.cancel(effect.name)

    def _return(self, effect: Return) -> None:
        value = effect.value
        if type(value) is tuple:
            self._polled(value)
        elif isinstance(value, CommitResult):
            self.application.commits.committed(value)
        elif isinstance(value, Closed):
            self.application.closed()
        elif isinstance(value, Failed):
            self.application.threw(value)

    def _polled(self, records: tuple[Any, ...]) -> None:
        for part in records:
            if self.progress.behind:
                position = self.client.consumer.positions.fetch_position(part.partition)
                self.progress.read_on(part, position.epoch)
            self.progress.take(part)
        if records and self.run.recorder.polls:
            self._context.events.polled(self, records)
        self.application.polled(records)


_CARRIED_OUT: Final[dict[type, Callable[[Process, Any], None]]] = {
    Send: lambda process, send: process._context.router.send(process, send),  # noqa: SLF001
    Close: lambda process, close: process._context.router.connections.close(process, close.node),  # noqa: SLF001
    SetTimer: Process._set_timer,  # noqa: SLF001
    CancelTimer: Process._cancel_timer,  # noqa: SLF001
    Call: lambda process, call: process.application.call(call),
    Unheard: lambda process, unheard: process.application.listener.pass_over(unheard),
    Report: lambda process, report: process._context.events.write(process, report.fact),  # noqa: SLF001
    Return: Process._return,  # noqa: SLF001
}
