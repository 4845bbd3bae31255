"""Settings of the offsets log, with Kafka's names and bounds."""

from __future__ import annotations

import pytest

from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError
from emulator.scenario.resolution import broker_settings
from emulator.world.cluster.broker_threads import log_settings
from protocols.offsets_topic.segments.segment import LogSettings
from protocols.settings import BrokerSettings

from .samples import SMALLEST


def scenario(settings):
    return f"{SMALLEST}\n[cluster.settings]\n{settings}\n"


def test_without_settings_it_is_the_offsets_topic_of_kafka():
    """Segments of 100 MiB or 7 days, dirty above one half, tombstones for a day."""
    assert LogSettings() == log_settings(BrokerSettings())


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ('"offsets.topic.segment.bytes" = "1MiB"', "segment_bytes", 2**20),
        ('"log.roll.ms" = "10s"', "segment_ms", 10_000),
        ('"log.cleaner.min.cleanable.ratio" = 0', "min_cleanable_dirty_ratio", 0.0),
        ('"log.cleaner.min.cleanable.ratio" = 0.25', "min_cleanable_dirty_ratio", 0.25),
        ('"log.cleaner.min.cleanable.ratio" = "0.25"', "min_cleanable_dirty_ratio", 0.25),
        ('"log.cleaner.min.compaction.lag.ms" = 5', "min_compaction_lag_ms", 5),
        ('"log.cleaner.max.compaction.lag.ms" = "1d"', "max_compaction_lag_ms", 86_400_000),
        ('"log.cleaner.delete.retention.ms" = 0', "delete_retention_ms", 0),
    ],
)
def test_each_setting_reaches_the_log(given, field, value):
    """In Kafka's own unit."""
    settings = broker_settings(loads(scenario(given)).cluster)

    assert value == getattr(log_settings(settings), field)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"offsets.topic.segment.bytes" = "1KiB"', "a whole number from 1048576 to"),
        ('"log.cleaner.min.cleanable.ratio" = 1.5', "a number from 0 to 1"),
        ('"log.cleaner.min.cleanable.ratio" = -0.1', "a number from 0 to 1"),
        ('"log.cleaner.min.cleanable.ratio" = nan', "a number from 0 to 1"),
        ('"log.cleaner.min.cleanable.ratio" = true', "a number from 0 to 1"),
        ('"log.cleaner.min.cleanable.ratio" = "half"', "a number from 0 to 1"),
        ('"log.cleaner.max.compaction.lag.ms" = 0', "a whole number from 1 to"),
        ('"log.cleaner.enable" = "on"', "true or false"),
        ('"log.cleaner.threads" = 2', "the emulator does not model"),
        ('"group.streams.max.size" = 2', "the emulator does not model"),
        ('"group.consumer.assignor.offload.enable" = true', "the emulator does not model"),
        ('"message.max.bytes" = 2', "or set max.message.bytes for __consumer_offsets"),
        ('"log.roll.hours" = 2', "or set log.roll.ms for __consumer_offsets"),
        (
            '"log.cleaner.min.compaction.lag.ms" = 7\n"log.cleaner.max.compaction.lag.ms" = 5',
            "above log.cleaner.max.compaction.lag.ms, which is 5",
        ),
    ],
)
def test_settings_that_kafka_would_refuse_are_refused(given, said):
    """With the allowed values."""
    with pytest.raises(ScenarioError) as refused:
        loads(scenario(given))

    assert said in str(refused.value)
