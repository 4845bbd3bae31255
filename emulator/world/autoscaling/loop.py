"""The autoscalers of a run: they read lag as an observer outside the cluster, and start and stop members."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from emulator.events import FaultBegan, FaultEnded, Rescaled
from emulator.scenario.lifetimes import first_members
from emulator.scenario.model import Autoscaler, Group
from emulator.world.autoscaling.hpa import HorizontalAutoscaler
from emulator.world.autoscaling.lag_metrics import (
    Activation,
    KafkaScaler,
    Metric,
    PartitionOffsets,
    exported_lag,
)
from emulator.world.draws import draw, sampler, stream_key
from emulator.world.faults.scripts import MemberScripts
from emulator.world.kernel import Rank, Script, wait
from emulator.world.world import World

REACTION_US = 1_000
"""From a decision to the change of the workload."""


def begin_autoscalers(world: World) -> None:
    """Begin the autoscaler of each group that has one."""
    for group in world.run.scenario.group:
        if group.autoscaler is not None:
            GroupScaler(world, group, group.autoscaler).begin()


class GroupScaler:
    """The autoscaler of one group, and the replicas that it has asked for."""

    def __init__(self, world: World, group: Group, rules: Autoscaler) -> None:
        self._world = world
        self._run = world.run
        self._group = group
        self._rules = rules
        self._workload = Workload(world, group, rules)
        self._scaler = KafkaScaler(rules)
        self._activation = Activation(rules)
        self._hpa = HorizontalAutoscaler(rules, self._workload.replicas)
        self._scraped: deque[tuple[int, int]] = deque()

    def begin(self) -> None:
        """Begin each loop at a time of its own: they belong to processes that know nothing of each other."""
        rules = self._rules
        if rules.kind == "keda":
            self._first("polls of KEDA", rules.polling_interval, self._poll)
        else:
            self._first("scrapes of lag", rules.scrape_interval, self._scrape)
        self._first("syncs of the HPA", rules.sync_period, self._sync)

    def _first(self, loop: str, interval_us: int, action: Any) -> None:
        """Begin a loop after a part of its interval that is drawn."""
        key = stream_key(self._run.seed, loop, self._group.id)
        self._after(int(draw(key, 0) * interval_us), interval_us, action)

    def _after(self, delay_us: int, interval_us: int, action: Any) -> None:
        def act(_: Any) -> None:
            action()
            self._after(interval_us, interval_us, action)

        kernel = self._run.kernel
        kernel.at(kernel.now + delay_us, Rank.SAMPLE, 1, act)

    # -- intervals ---------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Ask whether the trigger is active, as KEDA does (``checkScalers``)."""
        metric = self._metric()
        if metric is not None:
            current = self._workload.replicas
            wanted = self._activation.replicas(metric, current, self._run.kernel.now)
            self._rescale(wanted, wanted, metric.lag_of_activity)

    def _scrape(self) -> None:
        read, now = self._read(), self._run.kernel.now
        lag = None if read is None else exported_lag(read)
        if lag is None:
            self._scraped.clear()  # without a new value the series ends
            return
        self._scraped.append((now, lag))
        while self._scraped and self._scraped[0][0] <= now - self._rules.average_over:
            if len(self._scraped) == 1:
                break
            self._scraped.popleft()

    def _sync(self) -> None:
        """Let the HPA decide on its metric; without one it does nothing."""
        lag = self._lag_of_sync()
        current = self._workload.replicas
        if lag is None or not current:
            return
        wanted = self._hpa.wanted(current, lag)
        after = self._hpa.replicas(current, wanted, self._run.kernel.now)
        self._rescale(after, wanted, int(lag))

    def _lag_of_sync(self) -> float | None:
        if self._rules.kind == "keda":
            metric = self._metric()
            return None if metric is None else metric.lag
        values = [lag for _, lag in self._scraped]
        return sum(values) / len(values) if values else None

    def _rescale(self, replicas: int, wanted: int, lag: int) -> None:
        before = self._workload.replicas
        after = min(replicas, self._rules.max_replicas)
        if after != before:
            self._workload.rescale(after, wanted, lag)

    # -- offsets -----------------------------------------------------------------------------------

    def _metric(self) -> Metric | None:
        """Return the metric of KEDA at this time; None while no coordinator answers."""
        read = self._read()
        return None if read is None else self._scaler.read(read)

    def _read(self) -> list[PartitionOffsets] | None:
        """Return the offsets of each partition; None while no coordinator answers."""
        if self._group.offsets == "kafka":
            shard = self._world.offsets_topic.shard_of(self._group.id)
            if not shard.serves(shard.leader):
                return None
        for name in self._world.consumers.of_group(self._group.id):
            process = self._world.consumers.running(name)
            if process is not None:
                process.settle()
        return list(self._offsets())

    def _offsets(self) -> Iterator[PartitionOffsets]:
        committed = self._world.committed(self._group.id)
        only = self._rules.topic
        topics = {tp.topic for tp in committed} if only is None else {only}
        now = self._run.kernel.now
        for tp, log in self._world.topics.partitions():
            if tp.topic in topics:
                yield PartitionOffsets(tp, committed.get(tp), log.end(now))


class Workload:
    """The replicas of one group: members that run, start or stop."""

    def __init__(self, world: World, group: Group, rules: Autoscaler) -> None:
        self._world = world
        self._run = world.run
        self._group = group.id
        self._rules = rules
        self._names = [member.name for member in group.members]
        self._scripts = MemberScripts(world)
        self._alive = list(first_members(group))
        """The replicas that are not being stopped, the newest last."""

        self._starting: dict[str, int] = {}
        """Members that have not called their consumer yet, and the number of that start."""

        self._stopping: set[str] = set()
        self._steps = self._starts = 0
        self._withdrawn = world.consumers.withdrawn
        self._withdrawn.update(name for name in self._names if name not in self._alive)

    @property
    def replicas(self) -> int:
        """The number of replicas that was asked for last."""
        return len(self._alive)

    def rescale(self, after: int, wanted: int, lag: int) -> None:
        """Start or stop members until there are *after*."""
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
        names = self._starters(after - before) if after > before else self._leavers(before - after)
        play = self._start if after > before else self._stop
        scripts = [play(name, step, began) for name in names]
        ended = FaultEnded(fault=step, verb=verb, target=target)
        self._run.kernel.process(self._together(scripts, ended, began))

    def _together(self, scripts: list[Script], ended: FaultEnded, began: int) -> Script:
        env = self._run.kernel.env
        yield env.timeout(REACTION_US)
        yield from [env.process(script) for script in scripts]
        self._run.recorder.write(ended, began)

    # -- up ----------------------------------------------------------------------------------------

    def _starters(self, number: int) -> list[str]:
        """Return the members to start: the first that are not in use, then those that are stopping."""
        alive = set(self._alive)
        free = [name for name in self._names if name not in alive]
        free.sort(key=lambda name: name in self._stopping)
        names = free[:number]
        self._alive += names
        self._withdrawn.difference_update(names)
        for name in names:
            self._starts += 1
            self._starting[name] = self._starts
        return names

    def _start(self, name: str, step: str, cause: int) -> Script:
        number = self._starting[name]
        env = self._run.kernel.env
        key = stream_key(self._run.seed, "start_up", f"{name}/{number}")
        yield from wait(env, sampler(self._rules.start_up, key)(0))
        process = self._world.consumers.running(name)
        if process is not None and name in self._stopping:
            yield process.ended  # its name is in use until then
        if self._starting.get(name) != number:
            return  # a step down came first
        del self._starting[name]
        began = FaultBegan(fault=f"{step}/{name}", verb="start", target=name)
        self._world.consumers.start(name, self._run.recorder.write(began, cause))

    # -- down --------------------------------------------------------------------------------------

    def _leavers(self, number: int) -> list[str]:
        """Return the members to stop: first those that have not begun."""
        order = self._alive[::-1]
        if self._rules.removes == "random":
            key = stream_key(self._run.seed, "removes", self._group)
            order.sort(key=lambda name: draw(key, self._steps * 100_003 + self._names.index(name)))
        order.sort(key=lambda name: name not in self._starting)
        names = order[:number]
        self._alive = [name for name in self._alive if name not in names]
        self._withdrawn.update(names)
        return names

    def _stop(self, name: str, step: str, cause: int) -> Script:
        if self._starting.pop(name, None) is not None:
            return
        rules, env = self._rules, self._run.kernel.env
        self._stopping.add(name)
        began = FaultBegan(fault=f"{step}/{name}", verb="close", target=name)
        event = self._run.recorder.write(began, cause)
        yield from wait(env, rules.pre_stop)
        grace = max(0, rules.grace - rules.pre_stop)
        yield from self._scripts.stop_member(name, event, mid_batch=rules.mid_batch, grace=grace)
        self._stopping.discard(name)
