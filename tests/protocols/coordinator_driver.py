"""A coordinator with a hand-moved clock and a log that obeys the test.

The log is durable at once unless ``hold`` is set; ``refuse`` makes the next append fail. After
every step the driver calls ``check()`` and holds the law of replay: what the coordinator has as
durable is what a replay of the log gives. The drivers of both group types build on this.
"""

from __future__ import annotations

from typing import Any

from protocols.coordinator.machine import GroupCoordinator, Phase
from protocols.coordinator.replay import replayed
from protocols.facts import Fact
from protocols.groups.kip848.group import Group as ConsumerGroup
from protocols.groups.shard import Durable
from protocols.machine import Append, CancelTimer, Effect, Report, Send, SetTimer, Step
from protocols.messages import Header
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import Record
from protocols.settings import BrokerSettings
from protocols.values import replace
from tests.protocols.hand_clock import advance

EPOCH_MS = 1_700_000_000_000
GROUP = "g"


class CoordinatorDriver:
    def __init__(
        self, *, topics: Any, epoch_ms: int, settings: dict[str, Any], **given: Any
    ) -> None:
        self.topics = topics
        self.epoch_ms = epoch_ms
        self.settings = BrokerSettings(**settings)
        self.given = given
        self.now_us = 0
        self.log: list[Record] = []
        self.batches: list[tuple[Record, ...]] = []
        self.timers: dict[str, int] = {}
        self.facts: list[Fact] = []
        self.effects: list[Effect] = []
        self.hold = False
        self.checks = True
        self.refuse: ErrorCode | None = None
        self.rejections = 0
        self._calls: dict[Header, Any] = {}
        self._expected = Durable()
        self.coordinator = self._made()
        self._carry_out(self.coordinator.loaded(self.now_us))

    def _made(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings, epoch_ms=self.epoch_ms, topics=self.topics, **self.given
        )

    def emitted(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if type(fact) is kind]

    # -- what a test does --------------------------------------------------------------------

    def advance(self, ms: float) -> None:
        """Let time pass; timers run out in order of deadline, then name."""
        advance(self, ms, lambda name: self._carry_out(self.coordinator.wake(name, self.now_us)))

    def replicate(self, log_offset: int | None = None) -> None:
        """Let the log be durable, up to an offset or all of it."""
        offset = len(self.log) if log_offset is None else log_offset
        self._carry_out(self.coordinator.durable(offset, self.now_us))

    def reject(self, log_offset: int, error: ErrorCode) -> None:
        """Let the append at an offset, and all after it, have failed."""
        self.rejections += 1
        del self.log[log_offset:]
        self._expected = replayed(Durable(), self.log)
        self._carry_out(self.coordinator.rejected(log_offset, error, self.now_us))

    def fail_over(self, *, kept: int | None = None, durable: int | None = None) -> None:
        """Unload, and load on another broker from the first *kept* records of the log."""
        self._carry_out(self.coordinator.unload(self.now_us))
        self.begin_load(kept=kept, durable=durable)
        self._carry_out(self.coordinator.loaded(self.now_us))

    def begin_load(self, *, kept: int | None = None, durable: int | None = None) -> None:
        del self.log[len(self.log) if kept is None else kept :]
        self._expected = replayed(Durable(), self.log)
        self.timers.clear()
        self.coordinator = self._made()
        high_watermark = len(self.log) if durable is None else durable
        self._carry_out(self.coordinator.durable(high_watermark, self.now_us))
        for entry in enumerate(self.log):
            self.coordinator.replay([entry])

    # -- how effects are carried out ---------------------------------------------------------

    def _carry_out(self, step: Step[Any]) -> None:
        start = len(self.log)
        for effect in step.effects:
            self.effects.append(effect)
            match effect:
                case Append(records):
                    lone = start == len(self.log) or len(records) == 1
                    assert lone, "one atomic set a turn, or each record by itself"
                    self.log.extend(records)
                    self._expected = replayed(self._expected, records)
                case Send(to, message):
                    self._calls[to].answers.append(message)
                case SetTimer(name, deadline_us):
                    assert deadline_us >= self.now_us
                    self.timers[name] = deadline_us
                case CancelTimer(name):
                    self.timers.pop(name, None)
                case Report(fact):
                    self.facts.append(fact)
                case _:
                    raise AssertionError(effect)
        self._hold_laws()
        appended = tuple(self.log[start:])
        if appended:
            self.batches.append(appended)
        if appended and self.refuse is not None:
            error, self.refuse = self.refuse, None
            self.reject(start, error)
        elif appended and not self.hold:
            self.replicate()

    def _hold_laws(self) -> None:
        if not self.checks:
            return
        self.coordinator.check()
        if self.coordinator.phase is Phase.ACTIVE:
            assert self.coordinator.next_log_offset == len(self.log)
            durable = self.coordinator.state.durable
            self._expected = _as_in_memory(self._expected, durable)
            assert durable == self._expected, "live durable state is replay of the log"


def _as_in_memory(expected: Durable, durable: Durable) -> Durable:
    """Return what a replay gives without the empty consumer groups removed from memory alone."""
    groups = expected.groups
    for group_id, group in expected.groups.entries.items():
        if group_id not in durable.groups and isinstance(group, ConsumerGroup):
            assert not group.members
            groups = groups.without(group_id)
    return replace(expected, groups=groups)
