"""Faults and acts on members and brokers, each one a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.events import FaultBegan
from emulator.scenario import model
from emulator.scenario.deploys import is_deployment
from emulator.scenario.resolution import broker_names
from emulator.world import faults
from emulator.world.consumer.process import Process
from emulator.world.draws import sampler, stream_key
from emulator.world.faults.targets import broker_of, in_order, next_leader
from emulator.world.kernel import Script, wait
from emulator.world.world import World


class MemberScripts:
    """Plays the faults and acts on members."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world.run
        self._env = world.run.kernel.env

    def subscribe(self, act: model.Subscribe, began: int) -> Script:
        """Subscribe one member after the other to other topics."""
        for index, consumer in enumerate(in_order(act, self._world)):
            if index:
                yield from wait(self._env, act.gap)
            self._world.consumers.subscribe(consumer, act.topics, began)

    def seek(self, act: model.Seek, began: int) -> Script:
        """Make a member seek before its next poll."""
        process = self._running(self._world.consumers.at_present(act.member), began)
        if process is not None:
            topics = self._world.topics
            call = partial(faults.on_positions.seek, process, act, topics, began)
            process.ask(f"seek {act.id}", call, began)
        yield from ()

    def pause_partitions(self, act: model.PausePartitions, began: int) -> Script:
        """Make a member pause partitions before its next poll, and resume them after a while."""
        process = self._running(self._world.consumers.at_present(act.member), began)
        if process is None:
            return
        pause, resume = faults.on_positions.pause, faults.on_positions.resume
        process.ask(f"pause {act.id}", partial(pause, process, act, began), began)
        yield self._env.timeout(act.lasting)
        if process.alive:
            process.ask(f"resume {act.id}", partial(resume, process, act), began)

    def fail_listener(self, fault: model.FailListener, began: int) -> Script:
        """Make the listener calls of a member throw for a time, in any of its processes."""
        self._run.causes.disturbed[fault.member] = began
        failing = self._world.consumers.failing
        failing[fault.member] = fault
        yield self._env.timeout(fault.lasting)
        if failing.get(fault.member) is fault:
            del failing[fault.member]

    def _running(self, consumer: str, cause: int) -> Process | None:
        self._run.causes.disturbed[consumer] = cause
        return self._world.consumers.running(consumer)

    def crash(self, fault: model.Crash, began: int) -> Script:
        """Kill a member; restart it if the fault says so."""
        together = self._with_its_process(fault, began)
        for name, event in together:
            process = self._running(name, event)
            if process is not None:
                process.stop("crashed", event)
        yield from self._restart(fault, together)

    def _restart(self, fault: model.Crash | model.Close, together: list[tuple[str, int]]) -> Script:
        """Start the members of a process again, if the fault or act says so."""
        if fault.restart_after is None:
            return
        yield from wait(self._env, fault.restart_after + self._start_up_us(fault, fault.member))
        for name, event in together:
            self._world.consumers.start_again(name, event)

    def _start_up_us(self, fault: model.Crash | model.Close | model.DrainNode, name: str) -> int:
        return sampler(fault.start_up, stream_key(self._run.seed, fault.id, name))(0)

    def _with_its_process(
        self, fault: model.Crash | model.Close | model.Pause, began: int
    ) -> list[tuple[str, int]]:
        """Return a fault's member and those in the same process, each with its own event.

        A member that was replaced is not among them; its successor is.
        """
        consumers, found = self._world.consumers, []
        first = consumers.at_present(fault.member)
        for name in dict.fromkeys((first, *consumers.replica_of(fault.member))):
            event = began
            if name != fault.member:
                what = FaultBegan(fault=f"{fault.id}/{name}", verb=fault.verb, target=name)
                event = self._run.recorder.write(what, began)
            found.append((name, event))
        return found

    def close(self, fault: model.Close, began: int) -> Script:
        """Close a member; restart it if the act says so."""
        together = self._with_its_process(fault, began)
        stop = partial(self.stop_member, mid_batch=fault.mid_batch, grace=fault.grace)
        beside = [self._env.process(stop(*each)) for each in together[1:]]
        yield from stop(*together[0])
        yield from beside
        yield from self._restart(fault, together)

    def stop_member(
        self, consumer: str, cause: int, *, mid_batch: bool, grace: int | None
    ) -> Script:
        """Close a member and wait for its end; kill it after the grace period.

        With a grace period of 0 it is killed before it begins to close; with None it is never killed.
        """
        process = self._running(consumer, cause)
        if process is None:
            return
        if grace == 0:
            process.stop("killed", cause)
            return
        process.leave(mid_batch=mid_batch)
        if not process.alive:
            return
        if grace is None:
            yield process.ended
            return
        yield process.ended | self._env.timeout(grace)
        if process.alive:
            process.stop("killed", cause)

    def start(self, fault: model.Start, began: int) -> Script:
        """Start a member that does not run."""
        self._world.consumers.start(fault.member, began, fault)
        yield from ()

    def pause(self, fault: model.Pause, began: int) -> Script:
        """Pause a process for the duration of the fault."""
        running = [
            (process, event)
            for name, event in self._with_its_process(fault, began)
            if (process := self._running(name, event)) is not None and not process.paused
        ]
        for process, event in running:
            process.pause(event)
        if running:
            yield self._env.timeout(fault.lasting)
        for process, event in running:
            if process.alive:
                process.resume(event)

    def hang(self, fault: model.Hang, began: int) -> Script:
        """Make the handler of a member hang on one record."""
        process = self._running(self._world.consumers.at_present(fault.member), began)
        if process is not None:
            process.application.hang(fault.lasting)
        yield self._env.timeout(fault.lasting)

    def drain_node(self, act: model.DrainNode, began: int) -> Script:
        """Stop the members of a machine at the same time, and start each elsewhere."""
        replicas = map(self._world.consumers.replica_of, act.members)
        names = dict.fromkeys(name for replica in replicas for name in replica)
        yield from [self._env.process(self._drain(act, name, began)) for name in names]

    def _drain(self, act: model.DrainNode, name: str, cause: int) -> Script:
        began = FaultBegan(fault=f"{act.id}/{name}", verb="close", target=name)
        event = self._run.recorder.write(began, cause)
        stop = self.stop_member(name, event, mid_batch=act.mid_batch, grace=act.grace)
        if act.restart_after is None:
            yield from stop
            return
        away_us = act.restart_after + self._start_up_us(act, name)
        if is_deployment(act):
            yield from self._replace_pod(name, event, stop, away_us)
            return
        yield from stop
        yield from wait(self._env, away_us)
        self._world.consumers.start_again(name, event)

    def _replace_pod(self, name: str, cause: int, stop: Script, away_us: int) -> Script:
        """Stop a pod of a Deployment; another one starts in its place, counted from now."""
        consumers = self._world.consumers
        stopping = self._env.process(stop)
        successor = consumers.add_copy(name, own_id=True)
        yield from wait(self._env, away_us)
        consumers.start(successor, cause)
        yield stopping

    def zone_outage(self, fault: model.ZoneOutage, began: int) -> Script:
        """Kill the brokers and the running members of a rack; start them again at the end."""
        brokers, consumers = self._world.brokers, self._world.consumers
        racks = self._run.scenario.cluster.racks
        down = [number for number, rack in enumerate(racks, start=1) if rack == fault.rack]
        self._run.causes.brokers = began
        for broker in down:
            brokers.crash(broker, began)
        here = consumers.fail_rack(fault.rack)
        for process in here:
            self._run.causes.disturbed[process.blueprint.name] = began
            process.stop("crashed", began)
        yield self._env.timeout(fault.lasting)
        for broker in down:
            brokers.restart(broker, began)
        consumers.restore_rack(fault.rack)
        for process in here:
            consumers.start(process.blueprint.name, began)

    def rolling_restart(self, fault: model.RollingRestart, began: int) -> Script:
        """Restart the members of a group, ``max_unavailable`` of them at the same time."""
        restart = faults.deploys.RollingRestart(self._world, fault, began, self.stop_member)
        yield from restart.play()


def member_scripts(world: World) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each fault and act on members, by its kind."""
    scripts = MemberScripts(world)
    return {
        model.Crash: scripts.crash,
        model.Close: scripts.close,
        model.Start: scripts.start,
        model.Pause: scripts.pause,
        model.Hang: scripts.hang,
        model.RollingRestart: scripts.rolling_restart,
        model.DrainNode: scripts.drain_node,
        model.ZoneOutage: scripts.zone_outage,
        model.Subscribe: scripts.subscribe,
        model.Seek: scripts.seek,
        model.PausePartitions: scripts.pause_partitions,
        model.FailListener: scripts.fail_listener,
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
