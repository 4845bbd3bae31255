"""Topics, and who produces into them how fast."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import spelling
from emulator.scenario.part import Part
from emulator.scenario.quantities import Duration, PositiveDuration, Rate, RecordSize, StartTime


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
    if isinstance(value, Poisson) or "poisson" in spelling.keys(value):
        return "=poisson"
    if isinstance(value, Bursts) or "bursts" in spelling.keys(value):
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
    BeforeValidator(spelling.acks, json_schema_input_type=Literal["all", "1", 1]),
]


class Topic(Part):
    """A topic and its producer."""

    name: str = Field(pattern=spelling.LEGAL_NAME)
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
    """Who has a record when its producer is told that it is safe: all in sync, or the leader."""

    leaders: tuple[int, ...] = ()
    """Broker of partition 0, 1, …; missing ones go round."""

    @model_validator(mode="after")
    def _produced_forwards(self) -> Self:
        if self.produce_until is not None and self.produce_until < self.produce_from:
            raise ValueError("reversed: produce_until lies before produce_from")
        return self
