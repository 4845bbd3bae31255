"""The brokers: who is up, who leads what, and what a dead one holds back.

A broker that stopped still counts as a replica in sync until it is fenced, one
``broker.session.timeout.ms`` later: so long no high watermark moves on any partition it keeps a
copy of, whoever leads it (real-kafka 2.8). Fencing hands its leaderships on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emulator.events import BrokerDown, BrokerUp
from emulator.world.kernel import Rank

if TYPE_CHECKING:
    from emulator.world.cluster.shards import Shard
    from emulator.world.cluster.topics import PartitionLog
    from emulator.world.services import Services

NOBODY = -1
"""The leader of a partition that has none."""


class Brokers:
    """All brokers of a run, numbered from 1."""

    def __init__(self, services: Services, count: int, session_timeout_us: int) -> None:
        self._services = services
        self._session_timeout_us = session_timeout_us
        self.numbers = tuple(range(1, count + 1))
        self._down: set[int] = set()
        self._paused: set[int] = set()
        self._fenced: set[int] = set()
        self._stops = dict.fromkeys(self.numbers, 0)
        self._held: dict[int, list[Callable[[], None]]] = {}

    # -- queries ---------------------------------------------------------------------------------

    def up(self, broker: int) -> bool:
        """Say whether a broker's process exists."""
        return broker not in self._down

    def answers(self, broker: int) -> bool:
        """Say whether a broker exists and runs."""
        return broker not in self._down and broker not in self._paused

    def alive(self) -> tuple[int, ...]:
        """Return the brokers that metadata lists: those not known to be gone."""
        return tuple(b for b in self.numbers if b not in self._fenced)

    def hold(self, broker: int, action: Callable[[], None]) -> bool:
        """Keep a request for when a paused broker runs again; say whether it is paused."""
        if broker not in self._paused:
            return False
        self._held.setdefault(broker, []).append(action)
        return True

    # -- faults ----------------------------------------------------------------------------------

    def crash(self, broker: int, cause: int) -> None:
        """Kill a broker: connections break now, its absence is noticed later."""
        if broker in self._down:
            return
        self._services.recorder.write(BrokerDown(broker=broker), cause)
        self._paused.discard(broker)
        self._held.pop(broker, None)
        self._down.add(broker)
        self._stopped(broker)
        self._services.broker_died(broker)

    def restart(self, broker: int, cause: int) -> None:
        """Start a dead broker again: it registers, and is a replica in sync at once."""
        if broker not in self._down:
            return
        self._down.discard(broker)
        self._services.recorder.write(BrokerUp(broker=broker), cause)
        self._goes_on(broker)

    def pause(self, broker: int, cause: int) -> None:
        """Stop a broker's process; requests wait for it."""
        self._services.recorder.write(BrokerDown(broker=broker), cause)
        self._paused.add(broker)
        self._stopped(broker)
        self._services.fetches.plan_again()

    def resume(self, broker: int, cause: int) -> None:
        """Let a paused broker run again; what waited for it is handled now."""
        if broker not in self._paused:
            return
        self._paused.discard(broker)
        self._services.recorder.write(BrokerUp(broker=broker), cause)
        self._goes_on(broker)
        for action in self._held.pop(broker, []):
            action()

    # -- the controller --------------------------------------------------------------------------

    def _stopped(self, broker: int) -> None:
        self._stops[broker] += 1
        stop = self._stops[broker]
        self._freeze_and_thaw()
        when = self._services.kernel.now + self._session_timeout_us

        def noticed(_: Any) -> None:
            if self._stops[broker] == stop and not self.answers(broker):
                self._fence(broker)

        self._services.kernel.at(when, Rank.BROKER_TIMER, broker, noticed)

    def _goes_on(self, broker: int) -> None:
        self._stops[broker] += 1
        self._fenced.discard(broker)
        self._lead_again()
        self._freeze_and_thaw()
        self._services.fetches.plan_again()

    def _fence(self, broker: int) -> None:
        """Notice that a broker is gone: others lead what it led."""
        self._fenced.add(broker)
        self._lead_again()
        self._freeze_and_thaw()
        self._services.fetches.plan_again()

    def _lead_again(self) -> None:
        """Give every partition whose leader is fenced another one, if a replica is there."""
        for _, log in self._services.topics.partitions():
            if log.leader in self._fenced or log.leader == NOBODY:
                log.leader = self._successor(log.replicas)
        for shard in self._services.shards:
            if shard.leader in self._fenced or shard.leader == NOBODY:
                shard.move(self._successor(shard.replicas))
            elif shard.unloaded and self.answers(shard.leader):
                shard.move(shard.leader)

    def _successor(self, replicas: tuple[int, ...]) -> int:
        return next((b for b in replicas if b not in self._fenced and self.up(b)), NOBODY)

    def _freeze_and_thaw(self) -> None:
        """Stop or release every high watermark according to who holds it back now."""
        now = self._services.kernel.now
        for _, log in self._services.topics.partitions():
            self._hold_log(log, now)
        for shard in self._services.shards:
            self._hold_shard(shard)

    def held_back(self, replicas: tuple[int, ...]) -> bool:
        """Say whether some replica counts as in sync and does not run."""
        return any(b not in self._fenced and not self.answers(b) for b in replicas)

    def _hold_log(self, log: PartitionLog, now: int) -> None:
        if self.held_back(log.replicas):
            log.freeze(now)
        else:
            log.thaw(now)

    def _hold_shard(self, shard: Shard) -> None:
        if self.held_back(shard.replicas):
            shard.log.stop()
        else:
            shard.log.go_on()
