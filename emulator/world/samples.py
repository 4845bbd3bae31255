"""Sample lag at fixed instants, and with it check the invariants of machines; apply retention."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.events import LagSampled
from emulator.scenario.isolation import groups_of_committed_readers
from emulator.scenario.model import Group
from emulator.world.kernel import Moment, Rank
from emulator.world.world import World

RETENTION_CHECK_US = 1_000_000


class Ending(Protocol):
    """What decides during a run without ``run_for`` when it ends."""

    def is_far(self) -> bool:
        """Return whether the run certainly goes on until the next fault begins or ends."""

    def settled(self) -> bool:
        """Return whether the run ends now; called after every sample of lag."""


class Samples:
    """Samples the state of a run periodically."""

    def __init__(self, world: World, *, check: bool, ending: Ending | None = None) -> None:
        self._world = world
        self._run = world.run
        self._check = check
        self._ending = ending
        self._every = world.run.scenario.lag_every
        self._next: Moment | None = None
        self._recur = False
        self._of_committed = groups_of_committed_readers(world.run.scenario)

    def begin(self) -> None:
        """Sample from the first interval on."""
        self._next = self._at(self._every, self._sample_lag)
        if retentions := [each.retention for each in self._run.scenario.topic if each.retention]:
            early = min(retentions) // RETENTION_CHECK_US  # checks that find no record old enough
            self._at((early + 1) * RETENTION_CHECK_US, self._retain)

    def recur(self) -> None:
        """Let the samples of lag move with the periods of the run."""
        self._recur = True
        if self._next is not None:
            self._next.recurs = True

    def _at(self, when: int, action: Any) -> Moment:
        return self._run.kernel.at(when, Rank.SAMPLE, 0, action)

    def _sample_lag(self, _: Any) -> None:
        run, world = self._run, self._world
        for process in world.consumers.everyone():
            process.settle()
            if self._check:
                process.client.check()
        for group in run.scenario.group:
            self._sample_group(group)
        if self._check:
            for shard in world.offsets_topic:
                shard.check()
        world.router.write_counts()
        if self._ending is not None and self._ending.settled():
            run.kernel.stop()
        self._next = self._at(run.kernel.now + self._every, self._sample_lag)
        self._next.recurs = self._recur

    def _sample_group(self, group: Group) -> None:
        run, world = self._run, self._world
        now = run.kernel.now
        committed = world.committed(group.id)
        done = world.consumers.owners(group.id).done
        topics = world.consumers.topics(group.id).union(tp.topic for tp in (*done, *committed))
        watched = [(tp, log) for tp, log in world.topics.partitions() if tp.topic in topics]
        if not watched:
            return
        partitions = tuple(tp for tp, _ in watched)
        committed_only = group.id in self._of_committed
        sampled = LagSampled(
            group=group.id,
            partitions=partitions,
            log_ends=tuple(log.end(now) for _, log in watched),
            committed=tuple(committed.get(tp, -1) for tp in partitions),
            processed=tuple(
                log.behind_gap(done.get(tp, -1), committed=committed_only) for tp, log in watched
            ),
        )
        run.recorder.write(sampled)

    def _retain(self, _: Any) -> None:
        """Remove records that exceed the retention time from the logs of their topics."""
        run, world = self._run, self._world
        now = run.kernel.now
        dropped = False
        for log in world.topics.logs.values():
            retention = log.topic.retention
            if retention is not None:
                for partition in log.partitions:
                    dropped |= partition.retain(now - retention)
        if dropped and world.consumers.overtaken():
            world.consumers.plan_again()
        self._at(now + RETENTION_CHECK_US, self._retain)
