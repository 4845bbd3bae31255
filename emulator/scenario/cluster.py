"""The cluster: brokers, network, and topics with the rates of their producers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

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


class Cluster(Part):
    """The brokers."""

    brokers: int = Field(3, ge=1, le=1000)
    """How many; they are called ``broker-1``, ``broker-2``, …"""

    racks: tuple[str, ...] = ()
    """Rack of broker 1, 2, …; empty: none configured."""

    settings: BrokerTable = Field(default_factory=dict)
    """Kafka's broker settings by name, the same on every broker."""

    replication: Distribution = always(1_000)
    """From an append to the high watermark that covers it; followers have it after half of that."""

    load: Distribution = always(10_000)
    """How long a new coordinator takes to load a group's partition, however small that is."""

    load_bytes: ByteRate | None = None
    """How fast a load reads, on top of that; left out: at once."""

    load_records: Rate | None = Field(None, gt=0)
    """How fast a load applies records, on top of both; left out: at once."""

    offsets_backlog: Size = 0
    """Bytes that lie in each offsets partition when the run begins: never compacted, then or later."""

    offsets_backlog_records: int = Field(0, ge=0, le=10**12)
    """Records that lie there."""


class Link(Part):
    """One direction between two parties, where it differs from the rest of the network.

    A party is a consumer's name, ``broker-N``, ``clients`` or ``brokers``.
    """

    sender: str = Field(alias="from")
    receiver: str = Field(alias="to")
    latency: Distribution | None = None
    loss: float | None = Field(None, ge=0, le=1)


class Network(Part):
    """What lies between consumers and brokers."""

    latency: Distribution = always(500)
    """One way."""

    loss: float = Field(0.0, ge=0, le=1)
    """Share of group requests and responses that never arrive."""

    link: tuple[Link, ...] = ()


class Poisson(Part):
    """Records that come independently of each other."""

    poisson: Rate


class BurstShape(Part):
    """A fast spell again and again."""

    rate: Rate
    """Inside the bursts."""

    lasting: PositiveDuration = Field(alias="for")
    every: PositiveDuration
    between: Rate = 0.0
    """The rate outside the bursts."""

    @model_validator(mode="after")
    def _bursts_end(self) -> Self:
        if self.lasting > self.every:
            raise ValueError('a burst ("for") lasts longer than the time between two ("every")')
        return self


class Bursts(Part):
    """A fast spell again and again."""

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
    partitions: int = Field(1, ge=1, le=1_000_000)
    rate: Arrivals = 0.0
    """Records a second to each partition; a plain rate comes at equal distances."""

    skew: tuple[Annotated[float, Field(ge=0, le=1e6)], ...] = ()
    """Factors on the rate, for partition 0, 1, …; missing ones are 1."""

    backlog: int = Field(0, ge=0, le=2**53)
    """Records in each partition before the run begins."""

    backlog_at: Duration = 0
    """When the backlog is there."""

    record_size: RecordSize = 1024
    retention: PositiveDuration | None = None
    """Records older than this are gone; checked once a second."""

    created: StartTime = 0
    """``by act``: it exists from its ``create_topic`` on."""

    produce_from: Duration = 0
    produce_until: Duration | None = None
    replicas: int | None = Field(None, ge=1)
    """Copies of each partition, its replication factor; left out: the brokers' ``default.replication.factor``."""

    acks: Acks = "all"
    """Replicas that have a record before its producer gets the answer: all in sync, or the leader."""

    leaders: tuple[int, ...] = ()
    """Broker of partition 0, 1, …; missing ones go round."""

    @model_validator(mode="after")
    def _produced_forwards(self) -> Self:
        if self.produce_until is not None and self.produce_until < self.produce_from:
            raise ValueError("reversed: produce_until lies before produce_from")
        return self
