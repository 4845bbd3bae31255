"""Topics, and what their producers write."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import TopicTable
from emulator.scenario.part import Part
from emulator.scenario.tables.distributions import (
    Duration,
    Keys,
    PositiveDuration,
    RecordSize,
    StartTime,
)
from emulator.scenario.tables.rates import Arrivals, Repeats

MAX_PARTITIONS: Final = 1_000_000
"""Maximum number of partitions of a topic."""

CLEANUP, COMPACT = "cleanup.policy", "compact"

Acks = Annotated[
    Literal["all", "1"],
    BeforeValidator(short_forms.acks, json_schema_input_type=Literal["all", "1", 1]),
]


class Topic(Part):
    """A topic and its producer."""

    name: str = Field(pattern=short_forms.LEGAL_NAME)
    """Its name in Kafka."""

    partitions: int = Field(1, ge=1, le=MAX_PARTITIONS)
    """Their number when it is created."""

    rate: Arrivals = 0.0
    """Records per second in each partition; with a plain rate at equal intervals. Rates that change:
    docs/how-to/topics.md."""

    skew: tuple[Annotated[float, Field(ge=0, le=1e6)], ...] = ()
    """Factors on the rate, for partition 0, 1, …; missing ones are 1."""

    keys: Keys | None = None
    """What the producer hashes: partitions get different rates, on average ``rate``
    (docs/how-to/hot-keys.md). Left out: all get the same."""

    backlog: int = Field(0, ge=0, le=2**53)
    """Records in each partition before the run begins."""

    compacted: int | None = Field(None, ge=2, le=1_000_000)
    """The backlog is compacted: every n-th offset still holds a record (docs/how-to/topics.md)."""

    transaction_records: int | None = Field(None, ge=1, le=1_000_000)
    """The producer is transactional: this is the number of records in a transaction. A marker follows each
    transaction; it has an offset but is no record. Left out: the producer is not transactional."""

    aborted_every: int | None = Field(None, ge=2, le=1_000_000)
    """Every n-th transaction is aborted: consumers with ``isolation.level=read_committed`` skip its
    records. Left out: none is."""

    repeats: Repeats | None = None
    """The producer has no idempotence and repeats requests: some records are copies of others
    (docs/how-to/topics.md)."""

    backlog_at: Duration = 0
    """The time at which the backlog is written."""

    record_size: RecordSize = 1024
    """The size of each record."""

    retention: PositiveDuration | None = None
    """Records older than this are deleted; checked once a second."""

    created: StartTime = 0
    """``by act``: a ``create_topic`` act creates it."""

    settings: TopicTable = Field(default_factory=dict)
    """Kafka's topic settings by name. With ``cleanup.policy`` ``compact`` only the newest record of each key
    remains (docs/how-to/topics.md)."""

    produce_from: Duration = 0
    """When the producer starts."""

    produce_until: Duration | None = None
    """When the producer stops; left out: never."""

    replicas: int | None = Field(None, ge=1)
    """The replication factor; left out: the brokers' ``default.replication.factor``."""

    acks: Acks = "all"
    """Replicas that must have a record before the producer gets the response: all in sync, or the leader."""

    leaders: tuple[int, ...] = ()
    """Leader of partition 0, 1, …; missing ones are assigned round-robin."""

    @property
    def has_gaps(self) -> bool:
        """Whether some of its offsets hold no record."""
        return (
            self.compacted is not None or self.transaction_records is not None or self.is_compacted
        )

    @property
    def is_compacted(self) -> bool:
        """Whether the log cleaner removes records in the run."""
        return COMPACT in str(self.settings.get(CLEANUP, ""))

    @model_validator(mode="after")
    def _gaps_are_possible(self) -> Self:
        if self.compacted is not None and self.transaction_records is not None:
            raise ValueError('set only one of "compacted" and "transaction_records"')
        if self.aborted_every is not None and self.transaction_records is None:
            raise ValueError('"aborted_every" concerns transactions; set "transaction_records"')
        if self.has_gaps and self.repeats is not None:
            raise ValueError('"repeats" cannot be combined with offsets without records')
        if self.compacted is not None and not self.backlog:
            raise ValueError('"compacted" concerns the backlog; set "backlog"')
        if self.has_gaps and self.acks == "1":
            raise ValueError(
                'offsets without records need acks = "all": which of them a truncation removes is not '
                "modelled"
            )
        return self

    @model_validator(mode="after")
    def _compaction_is_possible(self) -> Self:
        policy = self.settings.get(CLEANUP)
        if self.settings.keys() - {CLEANUP} and not self.is_compacted:
            raise ValueError(f'its settings concern compaction; set {CLEANUP} = "compact"')
        if policy == COMPACT and self.retention is not None:
            raise ValueError(
                f'Kafka ignores retention with {CLEANUP} = "compact"; leave "retention" out, or set '
                f'{CLEANUP} = "compact,delete"'
            )
        if self.is_compacted and self.keys is None:
            raise ValueError(
                'compaction needs to know the keys: set "keys", such as { count = 100 }'
            )
        if self.is_compacted and (self.compacted or self.transaction_records):
            raise ValueError(
                f'{CLEANUP} = "compact" cannot be combined with "compacted" or "transaction_records"'
            )
        return self

    @model_validator(mode="after")
    def _produced_forwards(self) -> Self:
        if self.produce_until is not None and self.produce_until < self.produce_from:
            raise ValueError("reversed: produce_until lies before produce_from")
        return self
