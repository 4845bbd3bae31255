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

from assignors.values import dataclass
from emulator.events import (
    ClientDropped,
    CommitRefused,
    ConsumerStarted,
    Event,
    FaultBegan,
    ListenerThrew,
    ProcessingFailed,
)
from emulator.scenario import model
from emulator.scenario.deploys import changes_settings, replaced_together
from emulator.world.consumer.blueprints import Blueprint
from emulator.world.consumer.consumers import Replica, successor_name
from emulator.world.draws import sampler, stream_key
from emulator.world.faults.targets import members_of, replicas_in_order
from emulator.world.kernel import Script, wait
from emulator.world.world import World

ERRORS = (ClientDropped, CommitRefused, ListenerThrew, ProcessingFailed)
"""The events that canaries are judged by."""


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

        self._restarted: list[Restarted] = []
        """Replicas whose restart has begun, in the order of their restarts."""

        self._rolls_since_us: int | None = None
        """From when on an autoscaler starts the new version; None: it starts the old one."""

        self._has_given_up = False

    def play(self) -> Script:
        """Replace the canaries, and then the others if the canaries are healthy."""
        act = self._act
        left = self._left()
        if act.canary:
            first = list(islice(left, act.canary))
            errors = self._watch([name for replica in first for name in replica])
            yield from self._in_lanes(iter(first))
            replaced = len(self._replaced) == sum(map(len, first))
            if not replaced or not (yield from self._is_healthy(errors)):
                yield from self._on_unhealthy(errors)
                return
        if isinstance(act.order, str):
            self._rolls_since_us = self._run.kernel.now
            if changes_settings(act):
                self._consumers.newest[act.group] = act
        yield from self._in_lanes(left)

    def _left(self) -> Iterator[Replica]:
        """Yield the replicas to restart: wanted by the autoscaler, and not started new by it."""
        consumers = self._consumers
        for replica in replicas_in_order(self._act, self._world):
            since = self._rolls_since_us
            is_new = since is not None and consumers.is_created_since(replica[0], since)
            if not is_new and not any(map(consumers.is_withdrawn, replica)):
                yield replica

    def _in_lanes(self, left: Iterator[Replica]) -> Script:
        """Replace replicas, ``max_unavailable`` and ``surge`` of them at the same time."""
        consumers, group = self._consumers, self._act.group
        wanted = (not consumers.is_withdrawn(name) for name in members_of(group, self._world))
        replicas = sum(wanted) // consumers.threads(group)
        unavailable, surge = replaced_together(self._act, replicas)
        lanes = [self._one_by_one(left, surge=False) for _ in range(unavailable)]
        lanes += [self._one_by_one(left, surge=True) for _ in range(surge)]
        beside = [self._env.process(lane) for lane in lanes[1:]]
        yield from lanes[0]
        yield from beside

    def _one_by_one(self, left: Iterator[Replica], *, surge: bool) -> Script:
        """Replace one replica after the other of those that are left; each restart is an act."""
        act, last = self._act, Replica()
        for replica in left:
            if last:
                yield from wait(self._env, act.gap)
                if act.stop_at_failure and any(map(self._has_ended, last)):
                    _drain(left)
                    return
            earlier = [self._consumers.blueprint(name) for name in replica]
            self._restarted.append(Restarted(earlier, surge=surge))
            restarts = [self._begin("restart", name, f"{act.id}/{name}") for name in replica]
            last = yield from self._replace(replica, restarts, surge=surge)
            if not last:
                _drain(left)
                return
            self._replaced += zip(replica, last, strict=True)

    def _begin(self, verb: str, target: str, name: str) -> int:
        return self._run.recorder.write(
            FaultBegan(fault=name, verb=verb, target=target), self._began
        )

    # -- one replica ---------------------------------------------------------------------------

    def _replace(
        self, replica: Replica, restarts: list[int], *, surge: bool
    ) -> Generator[simpy.Event, Any, Replica]:
        """Stop the members of a replica and start their successors, or the other way around.

        Return the successors; empty if one is not ready in time.
        """
        act, consumers = self._act, self._consumers
        start_up = self._start_up_us(replica[0])
        successors = replica
        if surge or act.names == "random":
            own_id = act.names == "random"
            successors = tuple(consumers.add_copy(name, own_id=own_id) for name in replica)
        if surge:
            is_ready = yield from self._add(successors, restarts, start_up, act)
            if is_ready:
                yield from self._end(replica, restarts)
            return successors if is_ready else Replica()
        yield from self._end(replica, restarts)
        down_us = act.down_time + start_up
        pairs = zip(replica, restarts, strict=True)
        yield from self._together([self._while_down(*pair, down_us) for pair in pairs])
        self._start(successors, restarts, act)
        return successors if (yield from self._await_ready(successors)) else Replica()

    def _add(
        self,
        successors: Replica,
        causes: list[int],
        start_up: int,
        deploy: model.RollingRestart | None,
    ) -> Generator[simpy.Event, Any, bool]:
        """Start successors beside the members that they replace; return whether these can end.

        *deploy*: the act whose settings they have; None: those of their blueprints.
        """
        surging = self._consumers.surging[self._act.group]
        surging.add(successors)
        yield from wait(self._env, start_up)
        self._start(successors, causes, deploy)
        is_ready = yield from self._await_ready(successors)
        if is_ready:
            yield from wait(self._env, self._act.down_time)
            surging.discard(successors)
        return is_ready

    def _start(
        self, successors: Replica, causes: list[int], deploy: model.RollingRestart | None = None
    ) -> None:
        for name, cause in zip(successors, causes, strict=True):
            self._consumers.start(name, cause, deploy)

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

    # -- readiness -----------------------------------------------------------------------------

    def _await_ready(self, replica: Replica) -> Generator[simpy.Event, Any, bool]:
        """Probe a started replica until it is ready; return False if it ends or is not ready in time."""
        act, kernel = self._act, self._run.kernel
        if act.readiness == "started" and not act.ready_after:
            return True
        last_us = kernel.now + act.deadline
        yield from wait(self._env, act.ready_after)
        while unready := [name for name in replica if not self._is_ready(name)]:
            ended = next(filter(self._has_ended, unready), None)
            if ended or kernel.now >= last_us:
                self._give_up(ended or unready[0])
                return False
            yield from wait(self._env, min(act.probe_every, last_us - kernel.now))
        return True

    def _has_ended(self, consumer: str) -> bool:
        """Return whether a started member does not run, and neither waits for its rack nor is withdrawn."""
        consumers = self._consumers
        if consumers.running(consumer) is not None or consumers.is_withdrawn(consumer):
            return False
        return not consumers.waits_for_rack(consumer)

    def _give_up(self, consumer: str, why: str = "is not ready") -> None:
        """Write that the restart stops because of a member."""
        why = "has ended" if self._has_ended(consumer) else why
        target = f"{self._act.group} stops: {consumer} {why}"
        again = " going back" if self._has_given_up else ""
        self._has_given_up = True
        self._begin("give_up", target, f"{self._act.id}/give up{again}")

    def _is_ready(self, consumer: str) -> bool:
        if self._consumers.is_withdrawn(consumer):
            return True  # nothing waits for a replica that the autoscaler has removed
        process = self._consumers.running(consumer)
        if process is None:
            return False
        return self._act.readiness == "started" or bool(process.progress.owned)

    # -- canaries ------------------------------------------------------------------------------

    def _watch(self, canaries: list[str]) -> Errors:
        """Return the errors that the processes of these members will have."""
        errors = Errors(frozenset(canaries) | frozenset(map(successor_name, canaries)))
        if self._act.canary_errors is not None:
            self._run.recorder.add_sink(errors)
        return errors

    def _is_healthy(self, errors: Errors) -> Generator[simpy.Event, Any, bool]:
        """Probe the canaries until ``canary_for`` is over; return False as soon as one fails."""
        act, kernel = self._act, self._run.kernel
        last_us = kernel.now + act.canary_for
        while True:
            failed = self._failed_canary(errors, is_last=kernel.now >= last_us)
            if failed:
                self._give_up(*failed)
                return False
            if kernel.now >= last_us:
                return True
            yield from wait(self._env, min(act.probe_every, last_us - kernel.now))

    def _failed_canary(self, errors: Errors, *, is_last: bool) -> tuple[str, str] | None:
        """Return a canary that fails a probe, and why; the last probe asks whether it is ready."""
        limit = self._act.canary_errors
        for _, successor in self._replaced:
            if self._has_ended(successor) or (is_last and not self._is_ready(successor)):
                return successor, "is not ready"
            if self._act.canary_lag is not None and self._lag(successor) > self._act.canary_lag:
                return successor, f"has a lag of more than {self._act.canary_lag:,} records"
            if limit is not None and errors.count > limit and successor in errors.of:
                return successor, f"has had more than {limit:,} errors"
        return None

    def _lag(self, consumer: str) -> int:
        """Return the most records that a member has not processed in one of its partitions."""
        process = self._consumers.running(consumer)
        if process is None:
            return 0
        process.settle()
        progress, now = process.progress, self._run.kernel.now
        ends = ((tp, self._world.topics.find(tp)) for tp in progress.owned)
        left = (
            progress.runs(tp, progress.done(tp) or 0, log.end(now))
            for tp, log in ends
            if log is not None
        )
        return max((sum(end - first for first, end in runs) for runs in left), default=0)

    def _on_unhealthy(self, errors: Errors) -> Script:
        """Stop the restart; members that it has restarted go back if the act says so."""
        failed = self._failed_canary(errors, is_last=True)
        if failed and not self._has_given_up:
            self._give_up(*failed)
        if self._act.roll_back:
            for restarted in self._restarted:
                if not (yield from self._go_back(restarted)):
                    return

    def _go_back(self, restarted: Restarted) -> Generator[simpy.Event, Any, bool]:
        """Replace the members of a replica by ones as they were before; return whether they are ready."""
        act, consumers, earlier = self._act, self._consumers, restarted.earlier
        written = tuple(each.name for each in earlier)
        if restarted.surge and any(map(consumers.running, written)):
            yield from self._take_back(written)
            return True
        present = tuple(map(consumers.at_present, written))
        events = self._begin_going_back(written, present)
        start_up = self._start_up_us(written[0], nth=1)
        if restarted.surge:
            copies = self._copies_of(present, earlier)
            is_ready = yield from self._add(copies, events, start_up, None)
            if is_ready:
                yield from self._end(present, events)
            return is_ready
        yield from self._end(present, events)
        yield from wait(self._env, act.down_time + start_up)
        if act.names == "random":
            self._start(self._copies_of(present, earlier), events)
        else:
            for each, event in zip(earlier, events, strict=True):
                consumers.start_from(each, event)
        return True

    def _copies_of(self, present: Replica, earlier: list[Blueprint]) -> Replica:
        """Add successors of members that are as they were before; return their names."""
        own_id, add = self._act.names == "random", self._consumers.add_copy
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
class Restarted:
    """A replica whose restart has begun."""

    earlier: list[Blueprint]
    """Its members as they were before."""

    surge: bool
    """Whether its successors start before it ends."""


class Errors:
    """The errors of some members since they were restarted, counted from the events of the run."""

    def __init__(self, members: frozenset[str]) -> None:
        self._members = members
        self._started: set[str] = set()
        self.count = 0
        self.of: set[str] = set()
        """The members that have had one."""

    def __call__(self, event: Event) -> None:
        """Count an event that is an error of one of the members."""
        what = event.what
        if isinstance(what, ConsumerStarted) and what.consumer in self._members:
            self._started.add(what.consumer)
        elif isinstance(what, ERRORS) and what.consumer in self._started:
            self.count += what.failures if isinstance(what, ProcessingFailed) else 1
            self.of.add(what.consumer)


def _drain(left: Iterator[Replica]) -> None:
    """Leave the replicas that are left as they are: all lanes share them."""
    for _ in left:
        pass
