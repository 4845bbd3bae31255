"""The lag that autoscalers read: of KEDA's Kafka scaler, with its step from and to zero, or of an exporter.

KEDA creates an HPA, which asks the scaler for the metric every sync period and makes all steps between
one replica and the maximum. KEDA itself asks every polling interval whether the trigger is active. So
``cooldownPeriod`` delays no step but the one to zero (``pkg/scalers/kafka_scaler.go``,
``pkg/scaling/executor/scale_scaledobjects.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.scenario.model import Autoscaler


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """What a scaler reads of one partition."""

    partition: TopicPartition
    committed: int | None
    """None: the group has no committed offset."""

    end: int


@dataclass(frozen=True, slots=True)
class Metric:
    """What the scaler answers."""

    lag: int
    """The metric of the HPA: limited, and without persistent lag."""

    lag_of_activity: int
    """The lag that decides whether the trigger is active."""


def exported_lag(partitions: Iterable[PartitionOffsets]) -> int | None:
    """Return the lag of a group as a monitoring system has it from an exporter.

    A partition without a committed offset has no lag there: Kafka Lag Exporter reports NaN, kafka_exporter
    leaves it out of the sum. None: no partition has one, so that the HPA gets no metric and does nothing.
    """
    lags = [read.end - read.committed for read in partitions if read.committed is not None]
    return sum(lags) if lags else None


class KafkaScaler:
    """KEDA's Kafka scaler of one group."""

    def __init__(self, rules: Autoscaler) -> None:
        self._rules = rules
        self._previous: dict[TopicPartition, int] = {}

    def read(self, partitions: Sequence[PartitionOffsets]) -> Metric:
        """Return the metric of these offsets (``getTotalLag``); remember them for persistent lag."""
        lags = [self._lags(each) for each in partitions]
        total = sum(lag for lag, _ in lags)
        of_activity = sum(lag for _, lag in lags)
        with_lag = sum(lag > 0 for lag, _ in lags)
        return Metric(self._limited(total, len(partitions), with_lag), of_activity)

    def _lags(self, read: PartitionOffsets) -> tuple[int, int]:
        """Return the lag of a partition without and with persistent lag (``getLagForPartition``)."""
        rules = self._rules
        if read.committed is None:
            lag = 1 if rules.offset_reset_policy == "latest" else read.end
            lag = 0 if rules.scale_to_zero_on_invalid_offset else lag
            return lag, lag
        lag = read.end - read.committed
        if rules.exclude_persistent_lag:
            previous = self._previous.get(read.partition)
            self._previous[read.partition] = read.committed
            if previous == read.committed:
                return 0, lag
        return lag, lag

    def _limited(self, lag: int, partitions: int, with_lag: int) -> int:
        rules = self._rules
        threshold = rules.lag_threshold
        limited, even = rules.limit_to_partitions_with_lag, rules.ensure_even_distribution
        if rules.allow_idle_consumers and not (limited or even):
            return lag
        if even:
            lag = _next_factor(lag, partitions, threshold) * threshold
        most = with_lag if limited else partitions
        return most * threshold if lag // threshold > most else lag


def _next_factor(lag: int, partitions: int, threshold: int) -> int:
    """Return the least divisor of *partitions* with enough replicas for *lag*.

    >>> _next_factor(430, 12, 100), _next_factor(5_000, 12, 100)
    (6, 12)
    """
    divisors = (each for each in range(1, partitions + 1) if partitions % each == 0)
    return next((each for each in divisors if each * threshold >= lag), partitions)


class Activation:
    """The step from and to zero replicas of one group (``RequestScale``)."""

    def __init__(self, rules: Autoscaler) -> None:
        self._rules = rules
        self._active_us: int | None = None
        """When the trigger was last active; None: never."""

    def replicas(self, metric: Metric, current: int, now_us: int) -> int:
        """Return how many replicas KEDA itself asks for; *current*: it asks for no change."""
        rules = self._rules
        if metric.lag_of_activity > rules.activation_lag_threshold:
            self._active_us = now_us
            return max(rules.min_replicas, 1) if current == 0 else current
        if current and rules.min_replicas == 0:
            return 0 if self._cooled_down(now_us) else current
        return max(current, rules.min_replicas)

    def _cooled_down(self, now_us: int) -> bool:
        if self._active_us is None:
            return now_us > self._rules.initial_cooldown_period
        return now_us > self._active_us + self._rules.cooldown_period
