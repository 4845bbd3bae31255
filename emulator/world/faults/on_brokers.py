"""Faults and acts on brokers, each one a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.events import FaultBegan
from emulator.scenario import model
from emulator.scenario.resolution import broker_names
from emulator.world.faults.targets import broker_of, next_leader
from emulator.world.kernel import Script, wait
from emulator.world.world import World


def broker_scripts(world: World) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each fault and act on brokers, by its kind."""
    scripts = BrokerScripts(world)
    return {
        model.CrashBroker: scripts.crash,
        model.StopBroker: scripts.stop,
        model.PauseBroker: scripts.pause,
        model.RollingBrokerRestart: scripts.roll,
        model.SlowDisk: scripts.slow_disk,
        model.FillDisk: scripts.fill_disk,
        model.MoveCoordinator: scripts.move,
    }


class BrokerScripts:
    """Plays the faults and acts on brokers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world.run
        self._brokers = world.brokers

    def _target(self, fault: Any, began: int) -> int:
        self._run.causes.brokers = began
        return broker_of(fault.broker, self._world)

    # -- processes -------------------------------------------------------------------------------

    def crash(self, fault: model.CrashBroker, began: int) -> Script:
        """Kill a broker; restart it if the fault says so."""
        broker = self._target(fault, began)
        self._brokers.crash(broker, began)
        if fault.restart_after is not None:
            yield self._run.kernel.env.timeout(fault.restart_after)
            self._brokers.restart(broker, began)

    def stop(self, fault: model.StopBroker, began: int) -> Script:
        """Stop a broker by a controlled shutdown; restart it if the act says so."""
        broker = self._target(fault, began)
        self._brokers.stop(broker, began)
        if fault.restart_after is not None:
            yield from wait(self._run.kernel.env, fault.restart_after)
            self._brokers.restart(broker, began)

    def pause(self, fault: model.PauseBroker, began: int) -> Script:
        """Pause a broker's process for the duration of the fault."""
        broker = self._target(fault, began)
        self._brokers.pause(broker, began)
        yield self._run.kernel.env.timeout(fault.lasting)
        self._brokers.resume(broker, began)

    def roll(self, fault: model.RollingBrokerRestart, began: int) -> Script:
        """Restart brokers one after the other; each restart is a separate act."""
        names = broker_names(self._run.scenario.cluster)
        if not isinstance(fault.brokers, str):
            names = list(fault.brokers)
        for index, name in enumerate(names):
            if index:
                yield from wait(self._run.kernel.env, fault.gap)
            restart = self._run.recorder.write(
                FaultBegan(fault=f"{fault.id}/{name}", verb="restart_broker", target=name), began
            )
            self._run.causes.brokers = restart
            broker = broker_of(name, self._world)
            if fault.clean:
                self._brokers.stop(broker, restart)
            else:
                self._brokers.crash(broker, restart)
            yield from wait(self._run.kernel.env, fault.down_time)
            self._brokers.restart(broker, restart)

    # -- disks -----------------------------------------------------------------------------------

    def slow_disk(self, fault: model.SlowDisk, began: int) -> Script:
        """Slow a broker's disk for the duration of the fault."""
        broker = self._target(fault, began)
        self._brokers.slow_disk(broker, fault.by, began)
        yield self._run.kernel.env.timeout(fault.lasting)
        self._brokers.slow_disk(broker, 0, began)

    def fill_disk(self, fault: model.FillDisk, began: int) -> Script:
        """Fill a broker's disk for the duration of the fault."""
        broker = self._target(fault, began)
        self._brokers.fill_disk(broker, began)
        yield self._run.kernel.env.timeout(fault.lasting)
        self._brokers.clear_disk(broker, began)

    # -- leaders ---------------------------------------------------------------------------------

    def move(self, fault: model.MoveCoordinator, began: int) -> Script:
        """Move the leadership of a group's offsets partition to another in-sync replica."""
        self._run.causes.brokers = began
        shard = self._world.offsets_topic.shard_of(fault.group)
        self._world.controller.move(shard, next_leader(fault, self._world), began)
        yield from ()
