"""The passes of the log cleaner in a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assignors.types import TopicPartition
from emulator.events import RecordsCompacted
from emulator.scenario.resolution import topic_settings
from emulator.scenario.units import US_PER_MS
from emulator.world.cluster.partitions.cleaner import Cleaner
from emulator.world.consumer.handling.record_identity import Identities
from emulator.world.kernel import Rank
from emulator.world.world import World


class Cleaning:
    """Compacts the topics of a run at each ``log.cleaner.backoff.ms``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world.run
        scenario = self._run.scenario
        settings = {topic.name: topic_settings(topic, scenario.cluster) for topic in scenario.topic}
        self._cleaner = Cleaner(settings.__getitem__, Identities(scenario, self._run.seed).key)
        self._every_us = self._run.broker_settings.log_cleaner_backoff_ms * US_PER_MS

    def begin(self) -> None:
        """Look for work one back-off after the start of the run, and at each further one."""
        self._again(self._every_us)

    def _again(self, at_us: int) -> None:
        self._run.kernel.at(at_us, Rank.SAMPLE, 0, self._pass)

    def _pass(self, _: Any) -> None:
        now, removes = self._run.kernel.now, False
        for tp, log in self._world.topics.partitions():
            if log.is_compacted:
                removes |= self._compact(tp, now)
        if removes:
            self._world.consumers.plan_again()
        self._again(now + max(self._every_us, US_PER_MS))

    def _compact(self, tp: TopicPartition, now: int) -> bool:
        """Compact one partition if that is due; return whether records were removed."""
        log = self._world.topics.find(tp)
        assert log is not None, "it is a partition of a topic that exists"
        ranges = self._cleaner.compact(tp, log, now)
        if not ranges:
            return False
        compacted = RecordsCompacted(
            partition=tp,
            topic_id=self._world.topics.logs[tp.topic].topic_id,
            ranges=ranges,
            fetched=tuple(self._fetched(tp)),
        )
        self._run.recorder.write(compacted)
        return True

    def _fetched(self, tp: TopicPartition) -> Iterator[tuple[str, int, int]]:
        """Yield what consumers have fetched and not finished; write what they have finished."""
        for process in self._world.consumers.everyone():
            done = process.progress.done(tp)
            if done is None:
                continue
            process.settle()
            process.progress.write_finished(tp)
            done = process.progress.done(tp) or 0
            end = self._world.consumers.context.fetches.answered_to(process, tp)
            if end > done:
                yield process.blueprint.name, done, end
