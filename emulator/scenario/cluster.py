"""The cluster: brokers, network, and topics with the rates of their producers."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.distributions import (
    ByteRate,
    Distribution,
    Duration,
    PositiveDuration,
    Rate,
    RecordSize,
    Size,
    StartTime,
    always,
)
from emulator.scenario.kafka_settings import BrokerTable
from emulator.scenario.part import Part

MOST_PARTITIONS: Final = 1_000_000
"""Maximum number of partitions of a topic."""


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

    load: Distribution = always(10_000)
    """Minimum time in which a new coordinator loads an offsets partition."""

    load_bytes: ByteRate | None = None
    """Read speed of a load, in addition to ``load``; left out: reading takes no time."""

    load_records: Rate | None = Field(None, gt=0)
    """Replay speed of a load, in addition to both; left out: replaying takes no time."""

    offsets_backlog: Size = 0
    """Bytes in each offsets partition when the run begins; they are never compacted."""

    offsets_backlog_records: int = Field(0, ge=0, le=10**12)
    """Number of records in ``offsets_backlog``."""


class Link(Part):
    """One direction between two parties that differs from the rest of the network.

    A party is a consumer's name, ``broker-N``, ``clients`` or ``brokers``.
    """

    sender: str = Field(alias="from")
    receiver: str = Field(alias="to")
    latency: Distribution | None = None
    loss: float | None = Field(None, ge=0, le=1)


class Network(Part):
    """The network between consumers and brokers."""

    latency: Distribution = always(500)
    """One-way latency."""

    loss: float = Field(0.0, ge=0, le=1)
    """Share of group requests and responses that are lost."""

    link: tuple[Link, ...] = ()


class Poisson(Part):
    """Records that arrive independently of each other (a Poisson process)."""

    poisson: Rate


class BurstShape(Part):
    """Periodic bursts."""

    rate: Rate
    """The rate inside the bursts."""

    lasting: PositiveDuration = Field(alias="for")
    every: PositiveDuration
    between: Rate = 0.0
    """The rate outside the bursts."""

    @model_validator(mode="after")
    def _bursts_end(self) -> Self:
        if self.lasting > self.every:
            raise ValueError('a burst ("for") is longer than its period ("every")')
        return self


class Bursts(Part):
    """Periodic bursts."""

    bursts: BurstShape


def _pattern_of_arrivals(value: object) -> str:
    if isinstance(value, Poisson) or "poisson" in short_forms.keys(value):
        return "=poisson"
    if isinstance(value, Bursts) or "bursts" in short_forms.keys(value):
        return "=bursts"
    return "=steady"


Arrivals = Annotated[
    Annotated[Rate, Tag("=steady")]
    | Annotated[Poisson, Tag("=poisson")]
    | Annotated[Bursts, Tag("=bursts")],
    Discriminator(_pattern_of_arrivals),
]


Acks = Annotated[
    Literal["all", "1"],
    BeforeValidator(short_forms.acks, json_schema_input_type=Literal["all", "1", 1]),
]


class Topic(Part):
    """A topic and its producer."""

    name: str = Field(pattern=short_forms.LEGAL_NAME)
    partitions: int = Field(1, ge=1, le=MOST_PARTITIONS)
    rate: Arrivals = 0.0
    """Records per second in each partition; with a plain rate at equal intervals."""

    skew: tuple[Annotated[float, Field(ge=0, le=1e6)], ...] = ()
    """Factors on the rate, for partition 0, 1, …; missing ones are 1."""

    backlog: int = Field(0, ge=0, le=2**53)
    """Records in each partition before the run begins."""

    backlog_at: Duration = 0
    """The time at which the backlog is written."""

    record_size: RecordSize = 1024
    retention: PositiveDuration | None = None
    """Records older than this are deleted; checked once a second."""

    created: StartTime = 0
    """``by act``: a ``create_topic`` act creates it."""

    produce_from: Duration = 0
    produce_until: Duration | None = None
    replicas: int | None = Field(None, ge=1)
    """The replication factor; left out: the brokers' ``default.replication.factor``."""

    acks: Acks = "all"
    """Replicas that must have a record before the producer gets the response: all in sync, or the leader."""

    leaders: tuple[int, ...] = ()
    """Leader of partition 0, 1, …; missing ones are assigned round-robin."""

    @model_validator(mode="after")
    def _produced_forwards(self) -> Self:
        if self.produce_until is not None and self.produce_until < self.produce_from:
            raise ValueError("reversed: produce_until lies before produce_from")
        return self
