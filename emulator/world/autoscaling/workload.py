"""The replicas of a group with an autoscaler: processes that run, start or stop."""

from __future__ import annotations

from emulator.events import FaultBegan, FaultEnded, Rescaled
from emulator.scenario.estimates.lifetimes import first_replicas, replicas_of
from emulator.scenario.model import Autoscaler, Group
from emulator.world.consumer.consumers import Replica
from emulator.world.draws import draw, sampler, stream_key
from emulator.world.faults.scripts import MemberScripts
from emulator.world.kernel import Script, wait
from emulator.world.world import World

REACTION_US = 1_000
"""From a decision to the change of the workload."""


class Workload:
    """The replicas of one group, by the names that their members have in the file.

    A deploy may have replaced them: the successors of a replica start and stop in its place.
    """

    def __init__(self, world: World, group: Group, rules: Autoscaler) -> None:
        self._world = world
        self._run = world.run
        self._group = group.id
        self._rules = rules
        self._replicas = replicas_of(group)
        self._scripts = MemberScripts(world)
        self._alive = list(first_replicas(group))
        """The replicas that are not being stopped, the newest last."""

        self._starting: dict[Replica, int] = {}
        """Replicas that have not called their consumers yet, and the number of that start."""

        self._stopping: set[Replica] = set()
        self._steps = self._starts = 0
        self._withdrawn = world.consumers.withdrawn
        self._withdrawn.update(*set(self._replicas).difference(self._alive))

    @property
    def replicas(self) -> int:
        """The number of replicas that was asked for last."""
        return len(self._alive)

    def rescale(self, after: int, wanted: int, lag: int) -> None:
        """Start or stop replicas until there are *after*."""
        before = self.replicas
        self._steps += 1
        step = f"{self._group}-scale-{self._steps}"
        verb = "scale_up" if after > before else "scale_down"
        target = f"{self._group} ({before} to {after})"
        write = self._run.recorder.write
        began = write(FaultBegan(fault=step, verb=verb, target=target), None)
        write(
            Rescaled(
                group=self._group, fault=step, before=before, after=after, wanted=wanted, lag=lag
            ),
            began,
        )
        if after > before:
            scripts = [self._start(each, step, began) for each in self._starters(after - before)]
        else:
            scripts = [self._stop(each, step, began) for each in self._leavers(before - after)]
        ended = FaultEnded(fault=step, verb=verb, target=target)
        self._run.kernel.process(self._together(scripts, ended, began))

    def _together(self, scripts: list[Script], ended: FaultEnded, began: int) -> Script:
        env = self._run.kernel.env
        yield env.timeout(REACTION_US)
        yield from [env.process(script) for script in scripts]
        self._run.recorder.write(ended, began)

    def _begin(self, step: str, verb: str, member: str, cause: int) -> int:
        began = FaultBegan(fault=f"{step}/{member}", verb=verb, target=member)
        return self._run.recorder.write(began, cause)

    # -- up ----------------------------------------------------------------------------------------

    def _starters(self, number: int) -> list[Replica]:
        """Return the replicas to start: the first that are not in use, then those that are stopping."""
        alive = set(self._alive)
        free = [each for each in self._replicas if each not in alive]
        free.sort(key=lambda each: each in self._stopping)
        starters = free[:number]
        self._alive += starters
        for each in starters:
            self._withdrawn.difference_update(each)
            self._starts += 1
            self._starting[each] = self._starts
        return starters

    def _start(self, replica: Replica, step: str, cause: int) -> Script:
        number = self._starting[replica]
        consumers = self._world.consumers
        key = stream_key(self._run.seed, "start_up", f"{replica[0]}/{number}")
        yield from wait(self._run.kernel.env, sampler(self._rules.start_up, key)(0))
        for member in replica:
            process = consumers.running(consumers.at_present(member))
            if process is not None and replica in self._stopping:
                yield process.ended  # its name is in use until then
        if self._starting.get(replica) != number:
            return  # a step down came first
        del self._starting[replica]
        for name in map(consumers.at_present, replica):
            consumers.create(name, self._begin(step, "start", name, cause))

    # -- down --------------------------------------------------------------------------------------

    def _leavers(self, number: int) -> list[Replica]:
        """Return the replicas to stop: first those that have not begun."""
        order = self._alive[::-1]
        if self._rules.removes == "random":
            key, first = stream_key(self._run.seed, "removes", self._group), self._steps * 100_003
            order.sort(key=lambda each: draw(key, first + self._replicas.index(each)))
        order.sort(key=lambda each: each not in self._starting)
        leavers = order[:number]
        self._alive = [each for each in self._alive if each not in leavers]
        for each in leavers:
            self._withdrawn.update(each)
        return leavers

    def _stop(self, replica: Replica, step: str, cause: int) -> Script:
        if self._starting.pop(replica, None) is not None:
            return
        self._stopping.add(replica)
        events = {name: self._begin(step, "close", name, cause) for name in self._running(replica)}
        env = self._run.kernel.env
        yield from wait(env, self._rules.pre_stop)
        first, *others = [self._stop_member(*each) for each in events.items()]
        beside = [env.process(script) for script in others]
        yield from first
        yield from beside
        self._stopping.discard(replica)

    def _running(self, replica: Replica) -> list[str]:
        """Return the members of a replica; during a deploy with surge, their successors beside them."""
        consumers = self._world.consumers
        lines = [consumers.in_place_of(name) or [consumers.at_present(name)] for name in replica]
        return [name for line in lines for name in line]

    def _stop_member(self, name: str, cause: int) -> Script:
        rules = self._rules
        grace = max(0, rules.grace - rules.pre_stop)
        yield from self._scripts.stop_member(name, cause, mid_batch=rules.mid_batch, grace=grace)
