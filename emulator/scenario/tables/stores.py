"""The stores of offsets outside Kafka: ZooKeeper, and the database of an application."""

from math import inf
from typing import Annotated, Literal

from pydantic import Field

from emulator.scenario.part import Part
from emulator.scenario.tables.distributions import (
    Distribution,
    PositiveDuration,
    Rate,
    always,
)


class ZooKeeper(Part):
    """The ensemble in which groups with ``offsets = "zookeeper"`` keep their offsets."""

    writes: Annotated[Rate, Field(gt=0, le=1_000_000)] = 1_000.0
    """The highest rate of writes that it takes from these groups; more of them wait in a queue."""

    latency: Distribution = always(10_000)
    """From the time at which a write is taken until a quorum has it and the client knows."""

    read_latency: Distribution = always(2_000)
    """Duration of one read; a consumer reads one partition after the other."""

    versioned: bool = False
    """Write a znode only if its version is the one that the process read or wrote last; else the write
    fails (BadVersion). Kafka 0.8 writes without a condition."""

    claim: bool = False
    """With ``versioned``: a consumer that gets a partition writes its offset once more before it begins, so
    that the ensemble refuses writes of the former owner."""

    connection_timeout: PositiveDuration = 6_000_000
    """A process that starts while the ensemble is down exits after this time
    (``zookeeper.connection.timeout.ms``); a running process waits without a limit."""


class Database(Part):
    """The database in which groups with ``offsets = "database"`` keep results and offsets."""

    transactions: Annotated[Rate, Field(gt=0, le=1_000_000)] | None = None
    """The highest rate of transactions that it commits for these groups; more of them wait in a queue.
    Left out: not bounded."""

    latency: Distribution = always(5_000)
    """Duration of a commit; the application waits for it."""

    read_latency: Distribution = always(2_000)
    """Duration of the query that reads the offsets of the assigned partitions."""

    fenced: bool = True
    """Write an offset only if the stored one is the one that the process read or wrote last (``UPDATE …
    WHERE offset = expected``); else the transaction is rolled back."""

    on_failure: Literal["retry", "stop"] = "retry"
    """What the application does while the database is down: it tries the same transaction or query again
    after ``backoff`` and does not poll meanwhile, or its process exits."""

    backoff: PositiveDuration = 1_000_000
    """With ``on_failure = "retry"``: the wait before the next attempt."""

    def records_per_s(self, records_at_once: int) -> float:
        """Return the records that it commits at most; a batch of *records_at_once* is a transaction."""
        return inf if self.transactions is None else self.transactions * records_at_once
