"""The brokers as processes: which run, are paused, slow or full, and which reach each other.

The controller and the replicas determine the consequences (leaders, in-sync replicas, durable
records): they are called after every change here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emulator.events import BrokerDown, BrokerUp
from emulator.world.network import CONTROLLER, broker_name
from emulator.world.run import Run


class BrokerRegistry(Protocol):
    """The controller, as brokers use it."""

    def has_session(self, broker: int) -> bool:
        """Return whether the session of a broker has not expired."""

    def resign(self, broker: int, cause: int) -> None:
        """Move the leadership of a broker in a controlled shutdown to other brokers."""

    def reevaluate(self, cause: int) -> None:
        """React to a change of a broker or of the network."""


class Brokers:
    """All brokers of a run, numbered from 1."""

    def __init__(self, run: Run, count: int) -> None:
        self._run = run
        self._controller: BrokerRegistry
        self._plan_again: Callable[[], None]
        self._on_death: Callable[[int], None]
        self.numbers = tuple(range(1, count + 1))
        self._down: set[int] = set()
        self._paused: set[int] = set()
        self._full: dict[int, int] = {}
        """Brokers whose disk is full, and since when."""

        self._slow: dict[int, int] = {}
        self._held: dict[int, list[Callable[[], None]]] = {}
        self._ran_until: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        """Brokers that have started and may not register yet, with the event that started them."""

        self.started_us: dict[int, int] = {}
        """Start times of brokers' processes; brokers started before the run are left out."""

    def connect(
        self,
        controller: BrokerRegistry,
        plan_again: Callable[[], None],
        on_death: Callable[[int], None],
    ) -> None:
        """Set the parts that react to changes of brokers; called once, before the run.

        *plan_again*: computes the times of fetches in flight. *on_death*: breaks connections.
        """
        self._controller = controller
        self._plan_again = plan_again
        self._on_death = on_death

    # -- queries ---------------------------------------------------------------------------------

    def up(self, broker: int) -> bool:
        """Return whether a broker's process exists."""
        return broker not in self._down

    def answers(self, broker: int) -> bool:
        """Return whether a broker exists and runs."""
        return broker not in self._down and broker not in self._paused

    def ran_until(self, broker: int) -> int:
        """Return when a broker that does not run stopped; for one that runs, the present."""
        now = self._run.kernel.now
        return now if self.answers(broker) else self._ran_until[broker]

    def wrote_until(self, broker: int) -> int:
        """Return until when a broker could append records; for one that still can, the present."""
        ran_until = self.ran_until(broker)
        return min(ran_until, self._full.get(broker, ran_until))

    def disk_is_full(self, broker: int) -> bool:
        """Return whether a broker's disk is full."""
        return broker in self._full

    def disk_us(self, broker: int) -> int:
        """Return how much longer than usual a broker's disk takes."""
        return self._slow.get(broker, 0) if self._slow else 0

    def reach(self, one: int, other: int) -> bool:
        """Return whether two brokers run and requests pass between them in both directions."""
        if not (self.answers(one) and self.answers(other)):
            return False
        wire = self._run.wire
        if not wire.is_cut:
            return True
        here, there = broker_name(one), broker_name(other)
        return wire.passes(here, there) and wire.passes(there, here)

    def heartbeats_arrive(self, broker: int) -> bool:
        """Return whether a broker's heartbeats reach the controller."""
        return self.answers(broker) and self._run.wire.passes(broker_name(broker), CONTROLLER)

    def informed(self, broker: int) -> bool:
        """Return whether a broker also receives the controller's decisions."""
        name = broker_name(broker)
        return self.heartbeats_arrive(broker) and self._run.wire.passes(CONTROLLER, name)

    @property
    def sound(self) -> bool:
        """Whether every broker runs, every disk works, and no link is cut."""
        trouble = self._down or self._paused or self._full or self._slow
        return not trouble and not self._run.wire.is_cut

    def hold(self, broker: int, action: Callable[[], None]) -> bool:
        """Keep a request until a paused broker runs again; return whether it is paused."""
        if broker not in self._paused:
            return False
        self._held.setdefault(broker, []).append(action)
        return True

    # -- processes -------------------------------------------------------------------------------

    def crash(self, broker: int, cause: int) -> None:
        """Kill a broker: its connections break now, the controller notices it later."""
        self._waiting.pop(broker, None)
        if broker in self._down:
            return
        event = self._run.recorder.write(BrokerDown(broker=broker), cause)
        self._on_down(broker)
        self._controller.reevaluate(event)
        self._on_death(broker)

    def stop(self, broker: int, cause: int) -> None:
        """Stop a broker by a controlled shutdown: it moves its leadership first.

        Source: the controlled shutdown of ``BrokerServer`` and ``ReplicationControlManager``.
        """
        if broker in self._down:
            return
        if self.informed(broker):
            self._controller.resign(broker, cause)
        self.crash(broker, cause)

    def _on_down(self, broker: int) -> None:
        if broker not in self._paused:
            self._ran_until[broker] = self._run.kernel.now
        self._paused.discard(broker)
        self._held.pop(broker, None)
        self._down.add(broker)

    def restart(self, broker: int, cause: int) -> None:
        """Start a dead broker again: it registers, and fetches the records that it has missed.

        While the session of its last process is valid it may not register, and serves no request; a
        controlled shutdown leaves no session (KAFKA-19047).

        Source: ``ClusterControlManager.registerBroker``, ``BrokerServer.startup``.
        """
        if broker not in self._down:
            return
        if self._controller.has_session(broker):
            self._waiting[broker] = cause
            return
        self._down.discard(broker)
        self.started_us[broker] = self._run.kernel.now
        self._changed(self._run.recorder.write(BrokerUp(broker=broker), cause))

    def on_session_end(self, broker: int) -> None:
        """Register a broker that has waited for the end of its last process's session."""
        cause = self._waiting.pop(broker, None)
        if cause is not None:
            self.restart(broker, cause)

    def pause(self, broker: int, cause: int) -> None:
        """Pause a broker's process; requests wait for it."""
        if not self.answers(broker):
            return
        event = self._run.recorder.write(BrokerDown(broker=broker), cause)
        self._paused.add(broker)
        self._ran_until[broker] = self._run.kernel.now
        self._changed(event)

    def resume(self, broker: int, cause: int) -> None:
        """Resume a paused broker; requests that waited for it are handled now."""
        if broker not in self._paused:
            return
        self._paused.discard(broker)
        self._changed(self._run.recorder.write(BrokerUp(broker=broker), cause))
        for action in self._held.pop(broker, []):
            action()

    def on_network_change(self, cause: int) -> None:
        """React to a cut in the network, or to the end of one."""
        self._changed(cause)

    def _changed(self, cause: int) -> None:
        self._controller.reevaluate(cause)
        self._plan_again()

    # -- disks -----------------------------------------------------------------------------------

    def slow_disk(self, broker: int, by_us: int, cause: int) -> None:
        """Delay every append and fetch of a broker by *by_us*; 0: the disk recovered."""
        if by_us:
            self._slow[broker] = by_us
        else:
            self._slow.pop(broker, None)
        self._changed(cause)

    def fill_disk(self, broker: int, cause: int) -> None:
        """Fill a broker's disk: it cannot write."""
        self._full.setdefault(broker, self._run.kernel.now)
        self._changed(cause)

    def clear_disk(self, broker: int, cause: int) -> None:
        """Clear a broker's disk: it can write again."""
        self._full.pop(broker, None)
        self._changed(cause)
