"""Faults and acts on members: each one a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.events import FaultBegan
from emulator.scenario import model
from emulator.world.consumer.process import Process
from emulator.world.faults.targets import in_order
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
        process = self._running(fault.member, began)
        if process is not None:
            process.stop("crashed", began)
        if fault.restart_after is not None:
            yield from wait(self._env, fault.restart_after)
            self._world.consumers.start(fault.member, began)

    def close(self, fault: model.Close, began: int) -> Script:
        """Close a member; restart it if the act says so."""
        yield from self._stop_member(
            fault.member, began, mid_batch=fault.mid_batch, grace=fault.grace
        )
        if fault.restart_after is not None:
            yield from wait(self._env, fault.restart_after)
            self._world.consumers.start(fault.member, began)

    def _stop_member(
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
        process = self._running(fault.member, began)
        if process is None or process.paused:
            return
        process.pause(began)
        yield self._env.timeout(fault.lasting)
        if process.alive:
            process.resume(began)

    def hang(self, fault: model.Hang, began: int) -> Script:
        """Make the handler of a member hang on one record."""
        process = self._running(fault.member, began)
        if process is not None:
            process.application.hang(fault.lasting)
        yield self._env.timeout(fault.lasting)

    def rolling_restart(self, fault: model.RollingRestart, began: int) -> Script:
        """Restart the members of a group one after the other; each restart is a separate act."""
        successor = ""
        for index, consumer in enumerate(in_order(fault, self._world)):
            if index:
                yield from wait(self._env, fault.gap)
                if fault.stop_at_failure and self._world.consumers.running(successor) is None:
                    return
            name = f"{fault.id}/{consumer}"
            restart = self._run.recorder.write(
                FaultBegan(fault=name, verb="restart", target=consumer), began
            )
            successor = consumer
            if fault.surge:
                successor = self._world.consumers.add_surge_copy(consumer)
                self._world.consumers.start(successor, restart, fault)
                yield from wait(self._env, fault.down_time)
            yield from self._stop_member(
                consumer, restart, mid_batch=fault.mid_batch, grace=fault.grace
            )
            if not fault.surge:
                yield from wait(self._env, fault.down_time)
                self._world.consumers.start(successor, restart, fault)


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
        model.Subscribe: scripts.subscribe,
        model.FailListener: scripts.fail_listener,
    }
