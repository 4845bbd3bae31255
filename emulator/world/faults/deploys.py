"""Rolling restarts: the members of a group are replaced, a few at a time, each when the last one is ready.

The words are those of Kubernetes: a readiness probe, ``maxUnavailable``, ``maxSurge`` and
``progressDeadlineSeconds`` of a Deployment; pods of a StatefulSet keep their names. Two things differ:

- At ``progressDeadlineSeconds`` Kubernetes only sets the condition ``Progressing`` to False, and the
  rollout goes on if it can. Here a pipeline waits for it, as ``kubectl rollout status`` does, which then
  fails: the pipeline gives up, and the members that are left keep their version.
- A pod that has exited is not started again here; the kubelet would do that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, Protocol

import simpy

from emulator.events import FaultBegan
from emulator.scenario import model
from emulator.world.consumer.blueprints import Blueprint
from emulator.world.draws import sampler, stream_key
from emulator.world.faults.targets import in_order
from emulator.world.kernel import Script, wait
from emulator.world.world import World


class StopMember(Protocol):
    """Closes a member and waits for its end."""

    def __call__(self, consumer: str, cause: int, *, mid_batch: bool, grace: int | None) -> Script:
        """Close it; kill it after the grace period."""
        ...


class RollingRestart:
    """One rolling restart."""

    def __init__(
        self, world: World, act: model.RollingRestart, began: int, stop: StopMember
    ) -> None:
        self._world = world
        self._run = world.run
        self._env = world.run.kernel.env
        self._consumers = world.consumers
        self._act = act
        self._began = began
        self._stop = stop
        self._replaced: list[tuple[str, str]] = []
        """Each member that was replaced, and its successor."""

        self._restarted: list[Blueprint] = []
        """Members whose restart has begun, each as it was before, in the order of their restarts."""

        self._has_given_up = False

    def play(self) -> Script:
        """Replace the canaries, and then the others if the canaries are healthy."""
        act, withdrawn = self._act, self._consumers.withdrawn
        left = (name for name in in_order(act, self._world) if name not in withdrawn)
        if act.canary:
            first = list(islice(left, act.canary))
            yield from self._in_lanes(iter(first))
            yield from wait(self._env, act.canary_for)
            if len(self._replaced) < len(first) or self._unready_successors():
                yield from self._on_unhealthy()
                return
        yield from self._in_lanes(left)

    def _unready_successors(self) -> list[str]:
        return [successor for _, successor in self._replaced if not self._is_ready(successor)]

    def _in_lanes(self, left: Iterator[str]) -> Script:
        """Replace members, ``max_unavailable`` of them at the same time."""
        lanes = [self._one_by_one(left) for _ in range(self._act.max_unavailable)]
        beside = [self._env.process(lane) for lane in lanes[1:]]
        yield from lanes[0]
        yield from beside

    def _one_by_one(self, left: Iterator[str]) -> Script:
        """Replace one member after the other of those that are left; each restart is an act."""
        act, successor = self._act, ""
        for consumer in left:
            if successor:
                yield from wait(self._env, act.gap)
                if act.stop_at_failure and self._consumers.running(successor) is None:
                    _drain(left)
                    return
            self._restarted.append(self._consumers.blueprint(consumer))
            restart = self._begin("restart", consumer, f"{act.id}/{consumer}")
            successor = yield from self._replace(consumer, restart)
            if not successor:
                _drain(left)
                return
            self._replaced.append((consumer, successor))

    def _begin(self, verb: str, target: str, name: str) -> int:
        return self._run.recorder.write(
            FaultBegan(fault=name, verb=verb, target=target), self._began
        )

    # -- one member ----------------------------------------------------------------------------

    def _replace(self, consumer: str, restart: int) -> Generator[simpy.Event, Any, str]:
        """Stop a member and start its successor, or the other way around.

        Return the successor; empty if it is not ready in time.
        """
        act, consumers = self._act, self._consumers
        start_up = sampler(act.start_up, stream_key(self._run.seed, act.id, consumer))(0)
        successor = consumer
        if act.surge or act.names == "random":
            successor = consumers.add_copy(consumer, own_id=act.names == "random")
        if act.surge:
            yield from wait(self._env, start_up)
            consumers.start(successor, restart, act)
            if not (yield from self._await_ready(successor)):
                return ""
            yield from wait(self._env, act.down_time)
        yield from wait(self._env, act.pre_stop)
        grace = None if act.grace is None else max(0, act.grace - act.pre_stop)
        yield from self._stop(consumer, restart, mid_batch=act.mid_batch, grace=grace)
        if act.surge:
            return successor
        yield from self._while_down(consumer, restart, act.down_time + start_up)
        consumers.start(successor, restart, act)
        return successor if (yield from self._await_ready(successor)) else ""

    def _while_down(self, consumer: str, restart: int, down_us: int) -> Script:
        """Wait until a stopped member can start; meanwhile a stand-in may run with its instance id."""
        if not self._act.stand_in:
            yield from wait(self._env, down_us)
            return
        name = self._consumers.add_stand_in(consumer)
        self._consumers.start(name, restart)
        yield from wait(self._env, down_us)
        yield from self._stop(name, restart, mid_batch=self._act.mid_batch, grace=self._act.grace)

    # -- readiness -----------------------------------------------------------------------------

    def _await_ready(self, consumer: str) -> Generator[simpy.Event, Any, bool]:
        """Probe a started member until it is ready; return False if it ends or is not ready in time."""
        act, kernel = self._act, self._run.kernel
        if act.readiness == "started" and not act.ready_after:
            return True
        last_us = kernel.now + act.deadline
        yield from wait(self._env, act.ready_after)
        while not self._is_ready(consumer):
            if self._has_ended(consumer) or kernel.now >= last_us:
                self._give_up(consumer)
                return False
            yield from wait(self._env, min(act.probe_every, last_us - kernel.now))
        return True

    def _has_ended(self, consumer: str) -> bool:
        """Return whether a started member does not run, and does not wait for its rack."""
        consumers = self._consumers
        return consumers.running(consumer) is None and not consumers.waits_for_rack(consumer)

    def _give_up(self, consumer: str) -> None:
        """Write that the restart stops because of a member."""
        self._has_given_up = True
        why = "has ended" if self._has_ended(consumer) else "is not ready"
        target = f"{self._act.group} stops: {consumer} {why}"
        self._begin("give_up", target, f"{self._act.id}/give up")

    def _is_ready(self, consumer: str) -> bool:
        process = self._consumers.running(consumer)
        if process is None:
            return False
        return self._act.readiness == "started" or bool(process.progress.owned)

    # -- canaries ------------------------------------------------------------------------------

    def _on_unhealthy(self) -> Script:
        """Stop the restart; members that it has restarted go back if the act says so."""
        unready = self._unready_successors()
        if unready and not self._has_given_up:
            self._give_up(unready[0])
        if self._act.roll_back:
            for earlier in self._restarted:
                yield from self._go_back(earlier)

    def _go_back(self, earlier: Blueprint) -> Script:
        """Start a member again as it was before its restart."""
        act, consumer = self._act, earlier.name
        event = self._begin("roll_back", consumer, f"{act.id}/{consumer}/back")
        yield from self._stop(consumer, event, mid_batch=act.mid_batch, grace=act.grace)
        yield from wait(self._env, act.down_time)
        self._consumers.start_from(earlier, event)


def _drain(left: Iterator[str]) -> None:
    """Leave the members that are left as they are: all lanes share them."""
    for _ in left:
        pass
