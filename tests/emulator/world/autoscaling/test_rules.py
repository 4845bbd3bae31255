"""The rules of KEDA and of the HPA, as their documentation and source say."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.scenario.model import Autoscaler, ScalingPolicy, ScalingRules
from emulator.world.autoscaling.hpa import HorizontalAutoscaler, wanted_replicas
from emulator.world.autoscaling.lag_metrics import (
    Activation,
    KafkaScaler,
    Metric,
    PartitionOffsets,
    exported_lag,
)

S = 1_000_000


def hpa(current: int, **keys) -> HorizontalAutoscaler:
    return HorizontalAutoscaler(
        Autoscaler(**{"max_replicas": 100, "lag_threshold": 10, **keys}), current
    )


def offsets(*pairs: tuple[int | None, int]) -> list[PartitionOffsets]:
    return [PartitionOffsets(TopicPartition("t", n), *pair) for n, pair in enumerate(pairs)]


def keda(**keys) -> KafkaScaler:
    return KafkaScaler(Autoscaler(**{"max_replicas": 100, "lag_threshold": 10, **keys}))


# -- HPA -------------------------------------------------------------------------------------------


def test_a_metric_within_ten_percent_of_its_target_changes_nothing():
    wanted = [wanted_replicas(10, metric, 10, 0.1) for metric in (90, 110, 89, 111)]

    assert wanted == [10, 10, 9, 12]


def test_steps_up_are_limited_to_the_larger_of_four_and_double_in_fifteen_seconds():
    scaler = hpa(1)

    assert scaler.replicas(1, 50, 15 * S) == 5
    assert scaler.replicas(5, 50, 20 * S) == 5  # 1 at the start of the period, 4 added in it
    assert scaler.replicas(5, 50, 31 * S) == 10
    assert scaler.replicas(10, 50, 47 * S) == 20


def test_a_step_down_waits_until_no_recommendation_of_five_minutes_asks_for_more():
    scaler = hpa(8)

    assert scaler.replicas(8, 3, 15 * S) == 8
    assert scaler.replicas(8, 5, 299 * S) == 8
    assert scaler.replicas(8, 3, 301 * S) == 5
    assert scaler.replicas(5, 3, 600 * S) == 3


def test_a_window_upwards_takes_its_least_recommendation():
    scaler = hpa(2, scale_up=ScalingRules(stabilization_window=60 * S))

    assert scaler.replicas(2, 6, 30 * S) == 2
    assert scaler.replicas(2, 4, 75 * S) == 4


def test_policies_choose_the_largest_the_smallest_or_no_change():
    policies = (ScalingPolicy(replicas=2, period=60 * S), ScalingPolicy(percent=50, period=60 * S))
    found = {}
    for select in ("max", "min", "disabled"):
        rules = ScalingRules(stabilization_window=0, policies=policies, select=select)
        found[select] = hpa(10, scale_down=rules).replicas(10, 1, S)

    assert found == {"max": 5, "min": 8, "disabled": 10}


def test_numbers_out_of_range_are_corrected_and_zero_is_left_alone():
    scaler = hpa(3, min_replicas=2, max_replicas=6)

    assert [scaler.replicas(current, 4, S) for current in (1, 9, 0)] == [2, 6, 0]


def test_a_policy_counts_the_steps_of_its_period():
    """One replica a minute: the next step is a minute after the last one."""
    slow = ScalingRules(stabilization_window=0, policies=[ScalingPolicy(replicas=1, period=60 * S)])
    scaler = hpa(9, scale_down=slow)

    steps = [(at, scaler.replicas(current, 1, at * S)) for at, current in ((15, 9), (30, 8))]
    assert steps == [(15, 8), (30, 8)]
    assert scaler.replicas(8, 1, 75 * S) == 7


# -- KEDA ------------------------------------------------------------------------------------------


def test_the_metric_is_limited_to_partitions_unless_idle_consumers_are_allowed():
    read = offsets((0, 500), (0, 0))

    assert keda().read(read) == Metric(20, 500)
    assert keda(allow_idle_consumers=True).read(read).lag == 500
    assert keda(topic="t", limit_to_partitions_with_lag=True).read(read).lag == 10


def test_even_distribution_asks_for_a_divisor_of_the_partitions():
    read = offsets(*[(0, 7)] * 12)

    assert keda(topic="t", ensure_even_distribution=True).read(read).lag == 120
    assert keda(topic="t", ensure_even_distribution=True, lag_threshold=17).read(read).lag == 6 * 17


def test_a_partition_without_offset_has_a_lag_of_one_or_all_or_none():
    read = offsets((None, 70), (0, 0))

    assert keda().read(read).lag_of_activity == 1
    assert keda(offset_reset_policy="earliest").read(read).lag_of_activity == 70
    assert keda(scale_to_zero_on_invalid_offset=True).read(read).lag_of_activity == 0


def test_persistent_lag_counts_for_activity_and_not_for_the_metric():
    scaler = keda(exclude_persistent_lag=True)

    assert scaler.read(offsets((5, 9), (5, 9))) == Metric(8, 8)
    assert scaler.read(offsets((5, 9), (6, 9))) == Metric(3, 7)


def test_the_cooldown_delays_only_the_step_to_zero():
    active, idle = Metric(90, 90), Metric(0, 0)
    to_zero = Activation(Autoscaler(min_replicas=0, max_replicas=9, cooldown_period=60 * S))
    to_two = Activation(Autoscaler(min_replicas=2, max_replicas=9))

    assert to_zero.replicas(active, 0, 10 * S) == 1
    assert to_zero.replicas(idle, 4, 70 * S) == 4
    assert to_zero.replicas(idle, 4, 71 * S) == 0
    assert [to_two.replicas(idle, current, S) for current in (1, 4)] == [2, 4]


def test_a_trigger_is_active_above_its_activation_threshold_and_asks_for_one_replica():
    """The other threshold decides how many there are, and only from one replica on."""
    rules = Autoscaler(min_replicas=0, max_replicas=9, activation_lag_threshold=50)

    assert [Activation(rules).replicas(Metric(0, lag), 0, S) for lag in (50, 51, 900)] == [0, 1, 1]


def test_the_metric_of_persistent_lag_keeps_a_trigger_active():
    """``getTotalLag`` returns both sums; only that without it scales beyond one."""
    to_zero = Activation(Autoscaler(min_replicas=0, max_replicas=9, cooldown_period=60 * S))

    assert [to_zero.replicas(Metric(0, 9), 3, at * S) for at in (10, 100)] == [3, 3]


def test_a_trigger_that_was_never_active_waits_for_the_initial_cooldown():
    """``initialCooldownPeriod`` counts from when the ScaledObject was made."""
    rules = Autoscaler(min_replicas=0, max_replicas=9, initial_cooldown_period=90 * S)
    never = Activation(rules)

    assert [never.replicas(Metric(0, 0), 4, at * S) for at in (90, 91)] == [4, 0]


def test_an_exporter_has_no_lag_of_a_partition_without_a_committed_offset_and_keda_has_one():
    """``getLagForPartition`` returns 1 with latest, so that a first replica can commit."""
    read = offsets((None, 40), (5, 9), (None, 7))

    assert exported_lag(read) == 4
    assert keda().read(read).lag_of_activity == 6
    assert exported_lag(offsets((None, 40))) is None
