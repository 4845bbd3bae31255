"""The scenario as values: validated, with times in integer microseconds.

A TOML file is one way to write it; Python code can build the same classes. Tables are defined in
modules by subject, and all of them can be imported from here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    model_serializer,
    model_validator,
)

from emulator.scenario import short_forms
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.tables.acts import (
    AddPartitions,
    Close,
    CreateTopic,
    DeleteGroup,
    DeleteOffsets,
    DeleteTopic,
    MoveCoordinator,
    PausePartitions,
    ResetOffsets,
    RollingBrokerRestart,
    RollingRestart,
    Seek,
    Start,
    StopBroker,
    Subscribe,
)
from emulator.scenario.tables.cluster import (
    Autoscaler,
    Cluster,
    Link,
    Monitor,
    Network,
    ScalingPolicy,
    ScalingRules,
)
from emulator.scenario.tables.commits import CommitPolicy
from emulator.scenario.tables.distributions import (
    Constant,
    Distribution,
    Exponential,
    Lognormal,
    LognormalShape,
    Pareto,
    ParetoShape,
    PositiveDuration,
    Trace,
    Uniform,
    mean_us,
)
from emulator.scenario.tables.faults import (
    After,
    Crash,
    CrashBroker,
    Cut,
    DelayMessage,
    DrainNode,
    FailListener,
    FillDisk,
    Hang,
    LoseMessage,
    MessageMatch,
    Pause,
    PauseBroker,
    RestoreStore,
    SlowDisk,
    SlowStore,
    Step,
    StopStore,
    Timed,
    ZoneOutage,
)
from emulator.scenario.tables.groups import Group, Member, with_names_in_acts
from emulator.scenario.tables.handlers import BatchListener, Deduplication, OwnHandler, Poison
from emulator.scenario.tables.rates import (
    Bursts,
    BurstShape,
    Curve,
    CurveShape,
    Poisson,
    Ramp,
    RampShape,
    RateAt,
    Repeats,
    Steps,
)
from emulator.scenario.tables.stores import Database, ZooKeeper
from emulator.scenario.tables.topics import Topic
from emulator.scenario.units import format_number

__all__ = [
    "AddPartitions",
    "After",
    "Autoscaler",
    "BatchListener",
    "Bound",
    "BurstShape",
    "Bursts",
    "Close",
    "Cluster",
    "CommitPolicy",
    "Constant",
    "Crash",
    "CrashBroker",
    "CreateTopic",
    "Curve",
    "CurveShape",
    "Cut",
    "Database",
    "Deduplication",
    "DelayMessage",
    "DeleteGroup",
    "DeleteOffsets",
    "DeleteTopic",
    "Distribution",
    "DrainNode",
    "Exponential",
    "FailListener",
    "Fault",
    "FillDisk",
    "Group",
    "Hang",
    "Link",
    "Lognormal",
    "LognormalShape",
    "LoseMessage",
    "Member",
    "MessageMatch",
    "Monitor",
    "MoveCoordinator",
    "Network",
    "OwnHandler",
    "Pareto",
    "ParetoShape",
    "Part",
    "Pause",
    "PauseBroker",
    "PausePartitions",
    "Poison",
    "Poisson",
    "Ramp",
    "RampShape",
    "RateAt",
    "Repeats",
    "ResetOffsets",
    "RestoreStore",
    "RollingBrokerRestart",
    "RollingRestart",
    "ScalingPolicy",
    "ScalingRules",
    "Scenario",
    "Seek",
    "SlowDisk",
    "SlowStore",
    "Start",
    "Step",
    "Steps",
    "StopBroker",
    "StopStore",
    "Subscribe",
    "Timed",
    "Topic",
    "Trace",
    "Uniform",
    "Variant",
    "ZoneOutage",
    "ZooKeeper",
    "mean_us",
]


def _verb(value: object) -> str:
    return f"={getattr(value, 'verb', '') or short_forms.verb_of(value)}"


Fault = Annotated[
    Annotated[Crash, Tag("=crash")]
    | Annotated[Close, Tag("=close")]
    | Annotated[Start, Tag("=start")]
    | Annotated[Pause, Tag("=pause")]
    | Annotated[Hang, Tag("=hang")]
    | Annotated[FailListener, Tag("=fail_listener")]
    | Annotated[Cut, Tag("=cut")]
    | Annotated[CrashBroker, Tag("=crash_broker")]
    | Annotated[PauseBroker, Tag("=pause_broker")]
    | Annotated[StopBroker, Tag("=stop_broker")]
    | Annotated[RollingBrokerRestart, Tag("=rolling_broker_restart")]
    | Annotated[SlowDisk, Tag("=slow_disk")]
    | Annotated[FillDisk, Tag("=fill_disk")]
    | Annotated[SlowStore, Tag("=slow_store")]
    | Annotated[StopStore, Tag("=stop_store")]
    | Annotated[RestoreStore, Tag("=restore_store")]
    | Annotated[MoveCoordinator, Tag("=move_coordinator")]
    | Annotated[AddPartitions, Tag("=add_partitions")]
    | Annotated[CreateTopic, Tag("=create_topic")]
    | Annotated[DeleteTopic, Tag("=delete_topic")]
    | Annotated[DeleteOffsets, Tag("=delete_offsets")]
    | Annotated[ResetOffsets, Tag("=reset_offsets")]
    | Annotated[DeleteGroup, Tag("=delete_group")]
    | Annotated[RollingRestart, Tag("=rolling_restart")]
    | Annotated[DrainNode, Tag("=drain_node")]
    | Annotated[ZoneOutage, Tag("=zone_outage")]
    | Annotated[Subscribe, Tag("=subscribe")]
    | Annotated[Seek, Tag("=seek")]
    | Annotated[PausePartitions, Tag("=pause_partitions")]
    | Annotated[LoseMessage, Tag("=lose_message")]
    | Annotated[DelayMessage, Tag("=delay_message")],
    Discriminator(_verb),
    BeforeValidator(short_forms.fault),
]
"""A file writes the verb as a key: ``crash = "billing-1"``."""


class Bound(Part):
    """A bound on one metric: ``"<= 200"``, ``0``, ``">= 1"``, or ``"none or <= 5s"``."""

    relation: Literal[
        "<",
        "<=",
        "==",
        ">=",
        ">",
        "none or <",
        "none or <=",
        "none or ==",
        "none or >=",
        "none or >",
    ]
    """With ``none or``, a metric without a value is allowed, too."""

    value: float
    """In the unit of the metric; times are converted to seconds."""

    @model_serializer(when_used="json")
    def _spelled(self) -> str:
        return f"{self.relation} {format_number(self.value)}"


def _numbered(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Set the id of every fault without one to its verb and number."""
    ids = short_forms.number_faults([(fault.verb, fault.id) for fault in faults])
    return tuple(
        fault if fault.id else fault.model_copy(update={"id": name})
        for fault, name in zip(faults, ids, strict=True)
    )


def _parse_moment(start: object) -> object:
    """Parse a quoted time, as JSON and ``--set`` have it; return any other value unchanged."""
    try:
        return datetime.fromisoformat(start) if isinstance(start, str) else start
    except ValueError:
        return start


def _with_zone(start: datetime) -> datetime:
    """Read a time without a zone as UTC, so that the result is the same on every machine."""
    if not 1970 <= start.year <= 9000:
        raise ValueError("out of range; allowed are the years 1970 to 9000")
    return start if start.tzinfo else start.replace(tzinfo=UTC)


class Variant(Part):
    """The same scenario with some keys changed; ``rebalance compare`` runs them side by side.

    ``rebalance run`` plays the scenario as it is written.
    """

    name: Annotated[str, AfterValidator(short_forms.title)] = Field(min_length=1, max_length=60)
    """Its column in tables."""

    changes: tuple[str, ...] = Field((), alias="set")
    """``path=value``, as for ``--set``; left out: as it is written."""


LONGEST_UNTIL_SETTLED_US = 3_600_000_000
"""The end of a run without ``run_for`` that does not settle."""


class Scenario(Part):
    """A cluster, topics and groups, with the faults and acts of a run."""

    title: Annotated[str, AfterValidator(short_forms.title)] = Field(
        min_length=1, description="The heading of its reports."
    )
    description: str = Field("", description="More about it, for readers of the file.")
    run_for: PositiveDuration = LONGEST_UNTIL_SETTLED_US
    """The run ends before this instant. Left out: it lasts until it has settled, at most 1h."""

    until_settled: bool = False
    """The run ends before ``run_for`` when all faults have ended and every group is stable, has
    processed and committed what was produced until then, and lags no more than before."""

    seed: int = Field(0, ge=0, lt=2**64)
    """The seed of the first run; ``--seed`` replaces it."""

    start: (
        Annotated[datetime, BeforeValidator(_parse_moment), AfterValidator(_with_zone)] | None
    ) = None
    """Clock time of the start of the run, shown in output; without a zone, UTC."""

    lag_every: PositiveDuration = 1_000_000
    """How often lag is sampled."""

    cluster: Cluster = Cluster.model_construct()
    network: Network = Network.model_construct()
    database: Database = Database.model_construct()
    zookeeper: ZooKeeper = ZooKeeper.model_construct()
    topic: NotEmpty[Topic]
    group: NotEmpty[Group]
    fault: Annotated[tuple[Fault, ...], AfterValidator(_numbered)] = ()
    """Faults and acts, in the order of the file."""

    variant: tuple[Variant, ...] = ()
    """The settings that ``rebalance compare`` compares by default."""

    expect: dict[str, Annotated[Bound, BeforeValidator(short_forms.bound)]] = Field(
        default_factory=dict
    )
    """Bounds on metrics, by the metric's name."""

    @model_validator(mode="before")
    @classmethod
    def _settle(cls, value: Any) -> Any:
        """Let a run without ``run_for`` last until it has settled; read the names in its acts."""
        if not isinstance(value, dict):
            return value
        value = with_names_in_acts(value)
        return value if "run_for" in value else {"until_settled": True, **value}
