"""The autoscalers of a run: they read lag as an observer outside the cluster, and start and stop members."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from emulator.scenario.model import Autoscaler, Group
from emulator.world.autoscaling.hpa import HorizontalAutoscaler
from emulator.world.autoscaling.lag_metrics import (
    Activation,
    KafkaScaler,
    Metric,
    PartitionOffsets,
    exported_lag,
)
from emulator.world.autoscaling.workload import Workload
from emulator.world.draws import draw, stream_key
from emulator.world.kernel import Rank
from emulator.world.world import World


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
        """Let the HPA decide on its metric; without one it does nothing.

        The metric is divided by the replicas that are there (``scale.Status.Replicas``), which a deploy
        may have added to; within the tolerance, so many are wanted.
        """
        lag = self._lag_of_sync()
        current = self._workload.replicas
        if lag is None or not current:
            return
        there = current + self._world.consumers.surplus(self._group.id)
        wanted = self._hpa.wanted(there, lag)
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
