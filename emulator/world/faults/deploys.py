"""Rolling restarts: the members of a group are replaced, a few at a time, each when the last one is ready.

The words are those of Kubernetes. With random names the replicas are the pods of a Deployment: one that
terminates is not counted, so its replacement boots beside it. With ordinal names they are those of a
StatefulSet: the replacement of a pod starts after its end. Two things differ:

- At ``progressDeadlineSeconds`` Kubernetes only sets the condition ``Progressing`` to False, and the
  rollout goes on if it can. Here a pipeline waits for it, as ``kubectl rollout status`` does, which then
  fails: the pipeline gives up, and the members that are left keep their version.
- A pod that has exited is not started again here; the kubelet would do that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from itertools import islice
from typing import Any, Protocol

import simpy

from assignors.values import dataclass
from emulator.events import FaultBegan
from emulator.scenario import model
from emulator.scenario.deploys import changes_settings, is_deployment, replaced_together
from emulator.world.consumer.blueprints import Blueprint
from emulator.world.consumer.consumers import Replica, successor_name
from emulator.world.draws import sampler, stream_key
from emulator.world.faults.probes import Errors, Probes
from emulator.world.faults.targets import members_of, replicas_in_order
from emulator.world.kernel import Script, wait
from emulator.world.world import World


class StopMember(Protocol):
    """Closes a member and waits for its end."""

    def __call__(self, consumer: str, cause: int, *, mid_batch: bool, grace: int | None) -> Script:
        """Close it; kill it after the grace period."""
        ...


class Replacement(Protocol):
    """Replaces a replica; returns the new one, none if it is not ready in time."""

    def __call__(self, *, surge: bool) -> Generator[simpy.Event, Any, Replica]:
        """Replace it; with *surge* the new one is started first."""
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
        self._probes = Probes(world, act)
        self._is_deployment = is_deployment(act)
        self._successors: list[str] = []
        """The members that were started in the place of others, and are ready."""

        self._restarted: list[Restarted] = []
        """Replicas whose restart has begun, in the order of their restarts."""

        self._stopped: set[Replica] = set()
        """Replicas that the deploy has stopped, or begun to stop."""

        self._terminating: list[simpy.Process] = []
        """Stops of replicas for whose end nothing waits."""

        self._rolls_since_us: int | None = None
        """From when on an autoscaler starts the new version; None: it starts the old one."""

        self._has_given_up = False

    def play(self) -> Script:
        """Replace the canaries and then the others; wait until all that were replaced have ended."""
        yield from self._roll()
        yield from self._terminating

    def _roll(self) -> Script:
        """Replace the canaries, and then the others if the canaries are healthy."""
        act = self._act
        left = self._left()
        if act.canary:
            first = list(islice(left, act.canary))
            errors = self._probes.watch([name for replica in first for name in replica])
            yield from self._in_lanes(partial(self._restart, replica) for replica in first)
            all_ready = len(self._successors) == sum(map(len, first))
            if not all_ready or not (yield from self._is_healthy(errors)):
                yield from self._on_unhealthy(errors)
                return
        if isinstance(act.order, str):
            self._rolls_since_us = self._run.kernel.now
            if changes_settings(act):
                self._consumers.newest[act.group] = act
        yield from self._in_lanes(partial(self._restart, replica) for replica in left)

    def _left(self) -> Iterator[Replica]:
        """Yield the replicas to restart: wanted by the autoscaler, and not started new by it."""
        consumers = self._consumers
        for replica in replicas_in_order(self._act, self._world):
            since = self._rolls_since_us
            is_new = since is not None and consumers.is_created_since(replica[0], since)
            if not is_new and not any(map(consumers.is_withdrawn, replica)):
                yield replica

    def _in_lanes(self, left: Iterator[Replacement]) -> Script:
        """Replace replicas, ``max_unavailable`` and ``surge`` of them at the same time."""
        consumers, group = self._consumers, self._act.group
        wanted = (not consumers.is_withdrawn(name) for name in members_of(group, self._world))
        replicas = sum(wanted) // consumers.threads(group)
        unavailable, surge = replaced_together(self._act, replicas)
        ways = [False] * unavailable + [True] * surge
        yield from self._together([self._one_by_one(left, surge=way) for way in ways])

    def _one_by_one(self, left: Iterator[Replacement], *, surge: bool) -> Script:
        """Replace one replica after the other of those that are left."""
        act, last = self._act, Replica()
        for replace in left:
            if last:
                if not self._is_deployment:
                    yield from wait(self._env, act.gap)
                if act.stop_at_failure and any(map(self._probes.has_ended, last)):
                    _drain(left)
                    return
            last = yield from replace(surge=surge)
            if not last:
                _drain(left)
                return

    def _begin(self, verb: str, target: str, name: str, cause: int | None = None) -> int:
        """Write that a step of this act begins, and return the event; *cause*: by default the act."""
        began = FaultBegan(fault=name, verb=verb, target=target)
        return self._run.recorder.write(began, self._began if cause is None else cause)

    # -- one replica ---------------------------------------------------------------------------

    def _restart(self, replica: Replica, *, surge: bool) -> Generator[simpy.Event, Any, Replica]:
        """Replace the members of a replica, an act each; return the new ones, none if one is not ready in time."""
        earlier = [self._consumers.blueprint(name) for name in replica]
        self._restarted.append(Restarted(earlier, surge=surge))
        verb = "surge" if surge else "restart"
        restarts = [self._begin(verb, name, f"{self._act.id}/{name}") for name in replica]
        new, own_id = replica, self._is_deployment
        if surge or own_id:
            new = tuple(self._consumers.add_copy(name, own_id=own_id) for name in replica)
        start_up_us = self._start_up_us(replica[0])
        each = Exchange(replica, new, restarts, start_up_us, surge=surge, deploy=self._act)
        ready = yield from self._exchange(each)
        self._successors += ready
        return ready

    def _exchange(self, each: Exchange) -> Generator[simpy.Event, Any, Replica]:
        """Replace a replica; return the new one if it is ready in time."""
        way = self._start_first if each.surge else self._stop_first
        is_ready = yield from (self._exchange_pods if self._is_deployment else way)(each)
        return each.new if is_ready else Replica()

    def _exchange_pods(self, each: Exchange) -> Generator[simpy.Event, Any, bool]:
        """Start a pod of a Deployment; stop the one that it replaces now, or with ``surge`` when it is ready.

        The stop goes on beside what follows: a Deployment does not count pods that terminate.
        """
        act, surging = self._act, self._consumers.surging[self._act.group]
        if each.surge:
            surging.add(each.new)
        else:
            self._terminate(each)
        yield from wait(self._env, act.down_time + each.start_up_us)
        self._start(each)
        is_ready = yield from self._await_ready(each.new)
        if is_ready:
            yield from wait(self._env, act.gap)
            surging.discard(each.new)
            if each.surge:
                self._terminate(each)
        return is_ready

    def _terminate(self, each: Exchange) -> None:
        self._stopped.add(each.old)
        self._terminating.append(self._env.process(self._end_of(each)))

    def _end_of(self, each: Exchange) -> Script:
        """Stop the members that are replaced; with ``surge`` that is a step of its own, after their restart."""
        causes = each.causes
        if each.surge:
            pairs = zip(each.old, causes, strict=True)
            steps = [(name, f"{self._act.id}/{name}/stop", cause) for name, cause in pairs]
            causes = [self._begin("close", *step) for step in steps]
        yield from self._end(each.old, causes)

    def _start_first(self, each: Exchange) -> Generator[simpy.Event, Any, bool]:
        """Start a replica beside the one that it replaces, which ends when the new one is ready."""
        surging = self._consumers.surging[self._act.group]
        surging.add(each.new)
        yield from wait(self._env, each.start_up_us)
        self._start(each)
        is_ready = yield from self._await_ready(each.new)
        if is_ready:
            yield from wait(self._env, self._act.down_time)
            surging.discard(each.new)
            yield from self._end_of(each)
        return is_ready

    def _stop_first(self, each: Exchange) -> Generator[simpy.Event, Any, bool]:
        """Start a replica after the end of the one that it replaces."""
        yield from self._end_of(each)
        down_us = self._act.down_time + each.start_up_us
        pairs = zip(each.old, each.causes, strict=True)
        yield from self._together([self._while_down(*pair, down_us) for pair in pairs])
        self._start(each)
        return (yield from self._await_ready(each.new))

    def _start(self, each: Exchange) -> None:
        for name, cause in zip(each.new, each.causes, strict=True):
            self._consumers.start(name, cause, each.deploy)

    def _together(self, scripts: list[Script]) -> Script:
        """Play scripts at the same time, until the last one ends."""
        beside = [self._env.process(script) for script in scripts[1:]]
        yield from scripts[0]
        yield from beside

    def _start_up_us(self, consumer: str, nth: int = 0) -> int:
        return sampler(self._act.start_up, stream_key(self._run.seed, self._act.id, consumer))(nth)

    def _end(self, replica: Replica, causes: list[int]) -> Script:
        """Stop the members of a replica as the orchestrator does."""
        act = self._act
        self._stopped.add(replica)
        yield from wait(self._env, act.pre_stop)
        grace = None if act.grace is None else max(0, act.grace - act.pre_stop)
        pairs = zip(replica, causes, strict=True)
        stops = [self._stop(*pair, mid_batch=act.mid_batch, grace=grace) for pair in pairs]
        yield from self._together(stops)

    def _while_down(self, consumer: str, restart: int, down_us: int) -> Script:
        """Wait until a stopped member can start; meanwhile a stand-in may run with its instance id."""
        if not self._act.stand_in:
            yield from wait(self._env, down_us)
            return
        name = self._consumers.add_stand_in(consumer)
        self._consumers.start(name, restart)
        yield from wait(self._env, down_us)
        yield from self._stop(name, restart, mid_batch=self._act.mid_batch, grace=self._act.grace)

    def _await_ready(self, replica: Replica) -> Generator[simpy.Event, Any, bool]:
        """Wait until a started replica is ready; return False if it ends or is not ready in time."""
        unready = yield from self._probes.await_ready(replica)
        if unready:
            self._give_up(unready)
        return not unready

    def _give_up(self, consumer: str, why: str = "is not ready") -> None:
        """Write that the restart stops because of a member."""
        why = "has ended" if self._probes.has_ended(consumer) else why
        target = f"{self._act.group} stops: {consumer} {why}"
        again = " going back" if self._has_given_up else ""
        self._has_given_up = True
        self._begin("give_up", target, f"{self._act.id}/give up{again}")

    # -- canaries ------------------------------------------------------------------------------

    def _is_healthy(self, errors: Errors) -> Generator[simpy.Event, Any, bool]:
        """Watch the canaries; return False as soon as one fails."""
        failed = yield from self._probes.watch_canaries(self._successors, errors)
        if failed:
            self._give_up(*failed)
        return failed is None

    def _on_unhealthy(self, errors: Errors) -> Script:
        """Stop the restart; members that it has restarted go back if the act says so."""
        failed = self._probes.failed_canary(self._successors, errors, is_last=True)
        if failed and not self._has_given_up:
            self._give_up(*failed)
        if self._act.roll_back:
            kept = [each for each in self._restarted if self._still_runs(each.written)]
            taken = [self._env.process(self._take_back(each.written)) for each in kept]
            self._terminating += taken
            if not self._is_deployment:
                yield from taken
            left = [each for each in self._restarted if each not in kept]
            yield from self._in_lanes(partial(self._go_back, each) for each in left)

    def _still_runs(self, replica: Replica) -> bool:
        """Return whether a replica whose restart has begun was not stopped."""
        return replica not in self._stopped and any(map(self._consumers.running, replica))

    def _go_back(
        self, restarted: Restarted, *, surge: bool
    ) -> Generator[simpy.Event, Any, Replica]:
        """Replace the members of a replica by ones as they were before; return them if they are ready."""
        written, earlier = restarted.written, restarted.earlier
        was_renamed = restarted.surge or self._is_deployment
        names = map(successor_name, written) if was_renamed else written
        present = new = tuple(map(self._consumers.at_present, names))
        events = self._begin_going_back(written, present)
        if was_renamed or surge:
            new = self._copies_of(present, earlier)
        else:
            self._consumers.restore(earlier)
        start_up_us = self._start_up_us(written[0], nth=1)
        back = Exchange(present, new, events, start_up_us, surge=surge, deploy=None)
        return (yield from self._exchange(back))

    def _copies_of(self, present: Replica, earlier: list[Blueprint]) -> Replica:
        """Add successors of members that are as they were before; return their names."""
        own_id, add = self._is_deployment, self._consumers.add_copy
        pairs = zip(present, earlier, strict=True)
        return tuple(add(name, own_id=own_id, like=old) for name, old in pairs)

    def _take_back(self, written: Replica) -> Script:
        """End successors that were not ready, so that their predecessors still run."""
        consumers = self._consumers
        successors = tuple(map(successor_name, written))
        yield from self._end(successors, self._begin_going_back(written, successors))
        consumers.surging[self._act.group].discard(successors)
        for name in written:
            consumers.keep(name)

    def _begin_going_back(self, written: Replica, present: Replica) -> list[int]:
        return [
            self._begin("roll_back", target, f"{self._act.id}/{name}/back")
            for name, target in zip(written, present, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A replica that takes the place of another one."""

    old: Replica
    new: Replica
    causes: list[int]
    """The event that begins the restart of each member."""

    start_up_us: int
    surge: bool
    """Whether the new one is ready before the old one is stopped."""

    deploy: model.RollingRestart | None
    """The act whose settings the new one has; None: those of its blueprints."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """A replica whose restart has begun."""

    earlier: list[Blueprint]
    """Its members as they were before."""

    surge: bool
    """Whether its successors start before it ends."""

    @property
    def written(self) -> Replica:
        """The names of its members."""
        return tuple(each.name for each in self.earlier)


def _drain(left: Iterator[Replacement]) -> None:
    """Leave the replicas that are left as they are: all lanes share them."""
    for _ in left:
        pass
