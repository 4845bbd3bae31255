"""The environment of groups: brokers, network, autoscalers and monitors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import BrokerTable
from emulator.scenario.part import Part
from emulator.scenario.problems import refuse
from emulator.scenario.tables.distributions import (
    ByteRate,
    Distribution,
    Duration,
    PositiveDuration,
    Rate,
    Size,
    always,
)


class Cluster(Part):
    """The brokers."""

    brokers: int = Field(3, ge=1, le=1000)
    """The number of brokers; their names are ``broker-1``, ``broker-2``, …"""

    racks: tuple[str, ...] = ()
    """Rack of broker 1, 2, …; empty: none configured."""

    settings: BrokerTable = Field(default_factory=dict)
    """Kafka's broker settings by name, the same on every broker."""

    replication: Distribution = always(1_000)
    """Time from an append until the high watermark covers it; followers have it after half of it."""

    metadata_time: Distribution = always(0)
    """Time from a decision of the controller (which brokers are alive, which lead, which replicas are in
    sync) until a broker has applied it; drawn for each broker."""

    load: Distribution = always(10_000)
    """Minimum time in which a new coordinator loads an offsets partition."""

    load_bytes: ByteRate | None = None
    """Read speed of a load, in addition to ``load``; left out: reading takes no time."""

    load_records: Rate | None = Field(None, gt=0)
    """Replay speed of a load, in addition to both; left out: replaying takes no time."""

    join_time: Duration = 0
    """Time that the coordinator needs for each JoinGroup; its other requests wait meanwhile."""

    join_bytes: ByteRate | None = None
    """Speed at which the coordinator reads the metadata of JoinGroup and the assignments of SyncGroup;
    left out: reading takes no time."""

    pattern_time: Duration = 0
    """Time from a member's pattern that the coordinator matches (``pattern_by = "broker"``) to its
    topics: a background thread looks through all topics, other requests do not wait."""

    static_rejoin: Literal["stored", "in memory"] = "stored"
    """``in memory``: the new member id of a static member that is back in a stable group is not in the
    log, so that a coordinator that loads the group fences the member (Kafka before 2.7, KAFKA-10284)."""

    pending_syncs: Literal["removed", "kept"] = "removed"
    """``kept``: a member that answers a rebalance with heartbeats but no SyncGroup is not removed after
    the rebalance timeout (Kafka before 3.0, KAFKA-12890)."""

    new_members: Literal["removed", "kept"] = "removed"
    """``kept``: a new member that waits in its first join phase is not removed after 5min, even if its
    process has died (Kafka before 2.2, KAFKA-7610)."""

    offsets_backlog: Size = 0
    """Bytes in each offsets partition when the run begins; they are never compacted."""

    offsets_backlog_records: int = Field(0, ge=0, le=10**12)
    """Number of records in ``offsets_backlog``."""

    @property
    def outdated(self) -> tuple[str, ...]:
        """The keys in which the coordinators are those of an older version of Kafka."""
        return tuple(key for key, today in TODAY.items() if getattr(self, key) != today)


TODAY: Final[Mapping[str, str]] = {
    key: Cluster.model_fields[key].default
    for key in ("static_rejoin", "pending_syncs", "new_members")
}
"""For each key that makes coordinators older, the value of Kafka 4.4."""


class Link(Part):
    """One direction between two parties that differs from the rest of the network.

    A party is a consumer's name, ``broker-N``, ``clients`` or ``brokers``.
    """

    sender: str = Field(alias="from")
    """The party that sends."""

    receiver: str = Field(alias="to")
    """The party that receives."""

    latency: Distribution | None = None
    """One-way latency; left out: that of the network."""

    loss: float | None = Field(None, ge=0, le=1)
    """Share of messages that are lost; left out: that of the network."""


class Network(Part):
    """The network between consumers and brokers."""

    latency: Distribution = always(500)
    """One-way latency."""

    loss: float = Field(0.0, ge=0, le=1)
    """Share of group requests and responses that are lost."""

    link: tuple[Link, ...] = ()
    """The directions that differ from the rest."""


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
LONGEST_WINDOW_US = 3_600_000_000


class ScalingPolicy(Part):
    """How many replicas one step may add or remove in a period."""

    replicas: int | None = Field(None, ge=1)
    """Replicas in a period; set this or ``percent``."""

    percent: int | None = Field(None, ge=1)
    """Percent of the replicas in a period."""

    period: PositiveDuration = 15_000_000
    """The length of the period (``periodSeconds``)."""

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if (self.replicas is None) == (self.percent is None):
            raise ValueError('set exactly one of "replicas" and "percent"')
        if self.period > 1_800_000_000:
            raise ValueError("period: Kubernetes allows 30min at most")
        return self


class ScalingRules(Part):
    """The ``behavior`` of a HorizontalPodAutoscaler in one direction."""

    stabilization_window: Duration | None = None
    """A step up follows the smallest recommendation of this time, a step down the largest; left out: 0s
    upwards, 5min downwards."""

    policies: tuple[ScalingPolicy, ...] = ()
    """Left out: upwards 4 replicas or 100% in 15s, downwards 100% in 15s."""

    select: Literal["max", "min", "disabled"] = "max"
    """Which policy decides: the one with the largest change, the smallest one; or none: no step."""

    @model_validator(mode="after")
    def _in_the_limit(self) -> Self:
        if (self.stabilization_window or 0) > LONGEST_WINDOW_US:
            raise ValueError("stabilization_window: Kubernetes allows 1h at most")
        return self


class Autoscaler(Part):
    """Starts and stops members by the lag of their group."""

    kind: Literal["keda", "hpa"] = "keda"
    """``keda``: KEDA's Kafka scaler with the HPA that it creates; ``hpa``: an HPA that reads the lag from
    a monitoring system."""

    min_replicas: int = Field(1, ge=0)
    """The least number of processes; 0 is possible only with ``keda``."""

    max_replicas: int = Field(ge=1, le=short_forms.MAX_MEMBERS)
    """The group gets members for this number of processes (``threads`` in each); those that it does not begin with
    wait for the autoscaler."""

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
    """How fast processes are added."""

    scale_down: ScalingRules = ScalingRules.model_construct()
    """How fast processes are removed."""

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
        reason = f'only kind = "{other}" has this key; leave it out'
        given = [
            key
            for key in type(self).model_fields
            if key in foreign and key in self.model_fields_set
        ]
        if given:
            raise refuse("Autoscaler", [((key,), getattr(self, key), reason) for key in given])
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


class Monitor(Part):
    """A monitor outside the cluster, which sees commits and the ends of logs and nothing else."""

    name: str = Field("", max_length=60)
    """Left out: its rule."""

    rule: Literal["burrow", "lag"]
    """``burrow``: Burrow's rules on a window of commits; ``lag``: committed lag above a threshold."""

    every: PositiveDuration = 60_000_000
    """How often it evaluates its rule."""

    stuck_after: PositiveDuration = 60_000_000
    """The truth that it is compared with: a partition in which records wait and none is processed for
    this time is stuck."""

    intervals: int = Field(10, ge=2, le=10_000)
    """Commits in Burrow's window; also the ends of the log that it remembers."""

    offset_refresh: PositiveDuration = 10_000_000
    """How often Burrow reads the ends of logs, at samples of lag (``lag_every``)."""

    min_distance: Duration = 1_000_000
    """A commit that follows the one before it sooner replaces its offset, and keeps its time."""

    allowed_lag: int = Field(0, ge=0)
    """Lag up to which Burrow reports no problem."""

    rewind_first: bool = True
    """False: the older order of Burrow's rules, in which zero lag in the window hides a rewind."""

    above: int | None = Field(None, ge=0)
    """The threshold of a rule on lag."""

    lasting: Duration = Field(0, alias="for")
    """How long lag has to be above it."""

    of: Literal["group", "partition"] = "group"
    """The sum over the partitions of the group, or each of them."""

    @model_validator(mode="after")
    def _has_its_keys(self) -> Self:
        if (self.rule == "lag") != (self.above is not None):
            raise ValueError('rule = "lag" needs "above", and no other rule has it')
        return self
