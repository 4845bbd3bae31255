"""Autoscalers of consumer groups: the keys of KEDA's Kafka scaler and of the Kubernetes HPA."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from emulator.scenario import short_forms
from emulator.scenario.distributions import Distribution, Duration, PositiveDuration, always
from emulator.scenario.part import Part
from emulator.scenario.problems import listed

OF_KEDA = (
    "activation_lag_threshold",
    "polling_interval",
    "cooldown_period",
    "initial_cooldown_period",
    "topic",
    "offset_reset_policy",
    "allow_idle_consumers",
    "limit_to_partitions_with_lag",
    "exclude_persistent_lag",
    "ensure_even_distribution",
    "scale_to_zero_on_invalid_offset",
)
"""Keys that only KEDA's Kafka scaler has."""

OF_HPA = ("average_over", "scrape_interval")
"""Keys of the monitoring system whose metric an HPA without KEDA reads."""

ANY_NUMBER = 1 << 31


class ScalingPolicy(Part):
    """How far one step may go: so many replicas, or so many percent of them, in a period."""

    replicas: int | None = Field(None, ge=1)
    percent: int | None = Field(None, ge=1)
    period: PositiveDuration = 15_000_000

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if (self.replicas is None) == (self.percent is None):
            raise ValueError('set exactly one of "replicas" and "percent"')
        return self


class ScalingRules(Part):
    """The ``behavior`` of a HorizontalPodAutoscaler in one direction."""

    stabilization_window: Duration | None = None
    """The safest recommendation of this time decides; left out: 0s upwards, 5min downwards."""

    policies: tuple[ScalingPolicy, ...] = ()
    """Left out: upwards 4 replicas or 100% in 15s, downwards 100% in 15s."""

    select: Literal["max", "min", "disabled"] = "max"
    """Which policy decides: the one with the largest change, the smallest one; or none: no step."""


class Autoscaler(Part):
    """Starts and stops members by the lag of their group."""

    kind: Literal["keda", "hpa"] = "keda"
    """``keda``: KEDA's Kafka scaler with the HPA that it creates; ``hpa``: an HPA that reads the lag from
    a monitoring system."""

    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(ge=1, le=short_forms.MOST_MEMBERS)
    """The group gets so many members; those that it does not begin with wait for the autoscaler."""

    lag_threshold: int = Field(10, ge=1, le=ANY_NUMBER)
    """Lag for each replica (``lagThreshold``; of an HPA, the ``averageValue`` of its metric)."""

    activation_lag_threshold: int = Field(0, ge=0, le=ANY_NUMBER)
    """Lag above which the trigger is active; concerns only the step from and to 0 replicas."""

    polling_interval: PositiveDuration = 30_000_000
    """How often KEDA asks whether the trigger is active; the HPA asks every ``sync_period``."""

    cooldown_period: Duration = 300_000_000
    """How long the trigger is inactive before the step to 0 replicas; no other step waits for it."""

    initial_cooldown_period: Duration = 0
    """The same after the start of the run, if the trigger was never active."""

    topic: str | None = None
    """Left out: all topics for which the group has committed offsets."""

    offset_reset_policy: Literal["latest", "earliest"] = "latest"
    """The lag of a partition without a committed offset: 1 with ``latest``, all records with
    ``earliest``."""

    allow_idle_consumers: bool = False
    """Allow more replicas than partitions."""

    limit_to_partitions_with_lag: bool = False
    """Allow no more replicas than partitions with lag."""

    exclude_persistent_lag: bool = False
    """Leave out partitions whose committed offset is the same as when KEDA read it last."""

    ensure_even_distribution: bool = False
    """Only numbers of replicas that divide the number of partitions
    (``ensureEvenDistributionOfPartitions``)."""

    scale_to_zero_on_invalid_offset: bool = False
    """Count no lag for a partition without a committed offset."""

    average_over: Duration = 0
    """The metric is the mean of this time; 0s: the newest value."""

    scrape_interval: PositiveDuration = 15_000_000
    """How often the monitoring system reads lag."""

    sync_period: PositiveDuration = 15_000_000
    """``--horizontal-pod-autoscaler-sync-period``."""

    tolerance: float = Field(0.1, ge=0, lt=1)
    """No step while the metric is this close to its target (1 is all of it)."""

    scale_up: ScalingRules = ScalingRules.model_construct()
    scale_down: ScalingRules = ScalingRules.model_construct()

    start_up: Distribution = always(0)
    """From the decision to the first call of the consumer: schedule, pull, boot; drawn for each start."""

    removes: Literal["newest", "random"] = "newest"
    """The members that a step down stops; those that have not begun yet come first."""

    pre_stop: Duration = 0
    """From the decision to SIGTERM; the member works on, and ``grace`` includes this time."""

    grace: Duration = 30_000_000
    """Kill a member that has not exited after this time (``terminationGracePeriodSeconds``)."""

    mid_batch: bool = False
    """A member that closes stops its batch after the current record."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.min_replicas > self.max_replicas:
            raise ValueError('"min_replicas" is larger than "max_replicas"')
        foreign, other = (OF_KEDA, "keda") if self.kind == "hpa" else (OF_HPA, "hpa")
        given = [key for key in foreign if key in self.model_fields_set]
        if given:
            raise ValueError(f'{listed(given)}: only kind = "{other}" has it')
        if self.kind == "hpa" and self.min_replicas == 0:
            raise ValueError("min_replicas = 0 needs KEDA: an HPA does not start the first replica")
        self._as_keda_checks()
        return self

    def _as_keda_checks(self) -> None:
        """Refuse what KEDA refuses (``kafkaMetadata.Validate``)."""
        limited, even = self.limit_to_partitions_with_lag, self.ensure_even_distribution
        if limited and (self.allow_idle_consumers or even):
            other = "ensure_even_distribution" if even else "allow_idle_consumers"
            raise ValueError(f'KEDA refuses "limit_to_partitions_with_lag" together with "{other}"')
        if self.topic is None and (limited or even):
            name = "limit_to_partitions_with_lag" if limited else "ensure_even_distribution"
            raise ValueError(f'KEDA refuses "{name}" without "topic"')


def with_spare_members(group: Any) -> Any:
    """Return a group, as a file has it, with members up to ``max_replicas`` that wait for a start."""
    scaler, members = group["autoscaler"], group.get("members")
    most = getattr(scaler, "max_replicas", None)
    if isinstance(scaler, dict):
        most = scaler.get("max_replicas")
    named = isinstance(members, tuple) and all(
        not isinstance(each, dict) or "name" in each for each in members
    )
    if type(most) is not int or not named or most > short_forms.MOST_MEMBERS:
        return group
    taken = {each["name"] if isinstance(each, dict) else each.name for each in members}
    names = (f"{group.get('id')}-{number}" for number in range(most + len(members)))
    free = (name for name in names if name not in taken)
    spare = ({"name": next(free), "start": "by act"} for _ in range(most - len(members)))
    return {**group, "members": (*members, *spare)}
