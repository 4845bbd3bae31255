"""A consumer process of a cluster: a client, its timers, and a scripted application."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assignors.registry import load_assignor
from protocols.consumer.calls import Closed, CommitResult, Failed
from protocols.consumer.classic.machine import Client
from protocols.consumer.classic.state import Consumer, Membership
from protocols.facts import EpochOpened
from protocols.machine import Call, CancelTimer, Report, Return, Send, SetTimer, Step
from protocols.messages import Envelope, OffsetToCommit
from protocols.settings import ConsumerSettings

if TYPE_CHECKING:
    from .cluster import Cluster


class Doing(enum.Enum):
    IDLE = "between two calls"
    POLLING = "poll"
    WORKING = "its handler"
    COMMITTING = "commitSync"
    LISTENING = "a listener call"
    CLOSING = "close"
    DEAD = "nothing any more"


class Process:
    def __init__(
        self,
        cluster: Cluster,
        name: str,
        assignors: tuple[str, ...],
        seed: int,
        **settings: Any,
    ) -> None:
        made = tuple(load_assignor(assignor, {}) for assignor in assignors)
        shared = set.intersection(*(set(a.rebalance_protocols) for a in made))
        self.cluster = cluster
        self.name = name
        self.settings = ConsumerSettings(**{"auto_offset_reset": "earliest", **settings})
        self.owner = self.settings.group_instance_id or name
        self.timers: dict[str, int] = {}
        self.doing = Doing.IDLE
        self.commits: dict[int, tuple[OffsetToCommit, ...]] = {}
        self.processed: dict[Any, int] = {}
        self.floor: dict[Any, int] = {}
        """What was acknowledged, and where in the log, when it last asked for offsets."""

        self.work_us = 20_000
        self.restless = False
        self.policy = "none"
        """When it commits by itself: after each batch ``sync`` or ``async``, or when ``revoked``."""

        self.failed: Failed | None = None
        self._outer = Doing.IDLE
        self._then: Callable[[], None] = self._go_on
        self._effects: deque[Any] = deque()
        self._busy = False
        self._generation = -1
        self.client = Client(
            Consumer(
                name=name,
                group_id="g",
                settings=self.settings,
                assignors=made,
                protocol=max(shared),
                topics=("t",),
                matches=None,
                jitter=lambda _what, when: (when * 7 + seed * 13) % 101 / 101,
                epoch_ms=1_700_000_000_000,
                brokers=(1, 2),
            )
        )

    # -- what there is -----------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self.doing is not Doing.DEAD

    @property
    def calm(self) -> bool:
        """Whether it is a member that wants no rebalance and has applied the last one."""
        state = self.client.state
        joined = state.membership is Membership.STABLE and self.doing is not Doing.CLOSING
        return joined and state.rejoin is None and state.future is None

    # -- what the application does ------------------------------------------------------------

    def poll(self, timeout_ms: int = 100) -> None:
        self.doing = Doing.POLLING
        self.carry_out(self.client.poll(self.cluster.now_us, timeout_ms * 1_000))

    def commit_sync(self, then: Callable[[], None] | None = None) -> None:
        self._outer, self.doing = self.doing, Doing.COMMITTING
        self._then = then or self._go_on
        self.carry_out(self.client.commit_sync(self.cluster.now_us, self._done()))

    def commit_async(self) -> None:
        self.carry_out(self.client.commit_async(self.cluster.now_us, self._done()))

    def close(self) -> None:
        self.doing = Doing.CLOSING
        self.carry_out(self.client.close(self.cluster.now_us, 5_000_000))

    def crash(self) -> None:
        self.doing = Doing.DEAD
        self.timers.clear()
        self._effects.clear()

    def _done(self) -> tuple[OffsetToCommit, ...] | None:
        offsets = tuple(OffsetToCommit(tp, at) for tp, at in sorted(self.processed.items()))
        return offsets or None

    # -- what happens to it --------------------------------------------------------------------

    def receive(self, envelope: Envelope) -> None:
        self.cluster.acked(self, envelope)
        self.carry_out(self.client.handle(envelope, self.cluster.now_us))

    def wake_due(self) -> None:
        """Let the timers run out whose time has come."""
        now = self.cluster.now_us
        due = sorted((deadline, name) for name, deadline in self.timers.items() if deadline <= now)
        for _, name in due:
            if self.alive and self.timers.get(name, now + 1) <= now:
                del self.timers[name]
                self.carry_out(self.client.wake(name, now))

    # -- effects -------------------------------------------------------------------------------

    def carry_out(self, step: Step[Any]) -> None:
        self._effects.extend(step.effects)
        if self._busy:
            return
        self._busy = True
        while self._effects:
            self._one(self._effects.popleft())
        self._busy = False
        if self.alive:
            self.client.check()
            self._generations_rise()

    def _one(self, effect: Any) -> None:
        match effect:
            case Send():
                self.cluster.send(self, effect)
            case SetTimer(name, deadline_us):
                self.timers[name] = deadline_us
            case CancelTimer(name):
                self.timers.pop(name, None)
            case Call():
                self._listen(effect)
            case Return(value):
                self._returned(value)
            case Report(EpochOpened() as fact):
                self.cluster.started(self, fact)

    def _listen(self, call: Call) -> None:
        """Let the listener take five milliseconds."""
        before, self.doing = self.doing, Doing.LISTENING
        self.cluster.heard[call.listener] += 1
        if call.listener == "assigned":
            self.cluster.assigned(self)

        def heard() -> None:
            if self.alive:
                if call.listener != "assigned":
                    for tp in call.partitions:
                        self.processed.pop(tp, None)
                self.doing = before
                self.carry_out(self.client.called(call, self.cluster.now_us))

        def commit() -> None:
            if self.alive:
                self.commit_sync(heard)

        commits = self.policy == "revoked" and call.listener == "revoked"
        self.cluster.at(self.cluster.now_us + 5_000, commit if commits else heard)

    def _returned(self, value: Any) -> None:
        match value:
            case Closed():
                self.crash()
            case CommitResult():
                self.doing = self._outer
                self._then()
            case Failed():
                self.failed = value
                self.crash()
            case tuple() if value:
                self._work(value)
            case tuple():
                self.doing = Doing.IDLE
                self._go_on()

    def _work(self, batch: tuple[Any, ...]) -> None:
        self.doing = Doing.WORKING
        for part in batch:
            self.processed[part.partition] = part.next_offset

        def done() -> None:
            if self.alive and self.doing is Doing.WORKING:
                self.doing = Doing.IDLE
                self._batch_done()

        self.cluster.at(self.cluster.now_us + self.work_us, done)

    def _batch_done(self) -> None:
        if self.policy == "sync":
            self.commit_sync()
            return
        if self.policy == "async":
            self.commit_async()
        self._go_on()

    def _go_on(self) -> None:
        if self.restless and self.doing is Doing.IDLE:
            self.cluster.at(self.cluster.now_us, self.poll_again)

    def poll_again(self) -> None:
        if self.alive and self.doing is Doing.IDLE:
            self.poll()

    def _generations_rise(self) -> None:
        """Law 6: the generations of finished joins, which are durable, never fall."""
        state = self.client.state
        if state.membership is Membership.STABLE:
            assert state.generation.id >= self._generation, "a generation fell"
            self._generation = state.generation.id
