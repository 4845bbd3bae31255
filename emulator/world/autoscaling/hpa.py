"""The rules of the Kubernetes HorizontalPodAutoscaler for a metric with an average value per replica.

Source: ``pkg/controller/podautoscaler`` (``replica_calculator.go``
``GetExternalPerPodMetricReplicas``, ``horizontal.go`` ``stabilizeRecommendationWithBehaviors`` and
``convertDesiredReplicasWithBehaviorRate``), with the defaults of ``behavior`` in ``autoscaling/v2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil

from emulator.scenario.model import Autoscaler, ScalingPolicy, ScalingRules

UP_POLICIES = (ScalingPolicy(replicas=4), ScalingPolicy(percent=100))
DOWN_POLICIES = (ScalingPolicy(percent=100),)
DOWN_WINDOW_US = 300_000_000

Dated = tuple[int, int]
"""A time in microseconds, and a number of replicas."""


def wanted_replicas(current: int, metric: float, threshold: int, tolerance: float) -> int:
    """Return the replicas that a metric asks for: ``ceil(metric / threshold)``.

    Within the tolerance it asks for no change.

    >>> wanted_replicas(4, 450, 100, 0.1), wanted_replicas(4, 430, 100, 0.1)
    (5, 4)
    """
    ratio = metric / (threshold * current)
    within = 1.0 - tolerance <= ratio <= 1.0 + tolerance
    return current if within else ceil(metric / threshold)


class HorizontalAutoscaler:
    """The HPA of one group."""

    def __init__(self, rules: Autoscaler, current: int) -> None:
        """*current*: the replicas at the beginning of the run, which is the first recommendation."""
        self._rules = rules
        self._recommendations: list[Dated] = [(0, current)]
        self._added: list[Dated] = []
        self._removed: list[Dated] = []

    def wanted(self, current: int, metric: float) -> int:
        """Return the replicas that a metric asks for, before limits and windows."""
        rules = self._rules
        return wanted_replicas(current, metric, rules.lag_threshold, rules.tolerance)

    def replicas(self, current: int, wanted: int, now_us: int) -> int:
        """Return the replicas from now on, and remember the step."""
        rules = self._rules
        least = max(rules.min_replicas, 1)
        if current == 0:
            return 0  # an HPA does nothing with a workload of no replicas
        if not least <= current <= rules.max_replicas:
            after = min(max(current, least), rules.max_replicas)
        else:
            stable = self._stabilized(current, wanted, now_us)
            after = self._limited(current, stable, least, now_us)
        if after > current:
            self._added.append((now_us, after - current))
        elif after < current:
            self._removed.append((now_us, current - after))
        return after

    def _stabilized(self, current: int, wanted: int, now_us: int) -> int:
        """Return the recommendation of the windows: up by their least, down by their largest."""
        up_us = self._rules.scale_up.stabilization_window or 0
        down = self._rules.scale_down.stabilization_window
        down_us = DOWN_WINDOW_US if down is None else down
        up = min([wanted, *_since(self._recommendations, now_us - up_us)])
        most = max([wanted, *_since(self._recommendations, now_us - down_us)])
        kept_us = now_us - max(up_us, down_us)
        self._recommendations = [each for each in self._recommendations if each[0] >= kept_us]
        self._recommendations.append((now_us, wanted))
        return min(max(current, up), most)

    def _limited(self, current: int, stable: int, least: int, now_us: int) -> int:
        if stable > current:
            limit = max(current, self._limit_up(current, now_us))
            return min(stable, self._rules.max_replicas, limit)
        if stable < current:
            limit = min(current, self._limit_down(current, now_us))
            return max(stable, least, limit)
        return stable

    def _limit_up(self, current: int, now_us: int) -> int:
        rules = self._rules.scale_up
        if rules.select == "disabled":
            return current
        start = self._at_start(current, now_us)
        return _chosen(
            rules,
            (
                start(each) + each.replicas
                if each.replicas
                else ceil(start(each) * (1 + (each.percent or 0) / 100))
                for each in rules.policies or UP_POLICIES
            ),
            {"max": max, "min": min},
        )

    def _limit_down(self, current: int, now_us: int) -> int:
        rules = self._rules.scale_down
        if rules.select == "disabled":
            return current
        start = self._at_start(current, now_us)
        return _chosen(
            rules,
            (
                start(each) - each.replicas
                if each.replicas
                else int(start(each) * (1 - (each.percent or 0) / 100))
                for each in rules.policies or DOWN_POLICIES
            ),
            {"max": min, "min": max},
        )

    def _at_start(self, current: int, now_us: int) -> Callable[[ScalingPolicy], int]:
        """Return a function to the replicas at the start of a policy's period."""

        def at_start(policy: ScalingPolicy) -> int:
            since_us = now_us - policy.period
            added = sum(_since(self._added, since_us))
            return current - added + sum(_since(self._removed, since_us))

        return at_start


def _chosen(
    rules: ScalingRules,
    limits: Iterable[int],
    choices: dict[str, Callable[[Iterable[int]], int]],
) -> int:
    return choices[rules.select](limits)


def _since(entries: Iterable[Dated], cutoff_us: int) -> list[int]:
    """Return the numbers of the entries after a time."""
    return [number for at_us, number in entries if at_us > cutoff_us]
