"""What code of the user yields to its consumer: one action at a time, in virtual time.

Users import these from :mod:`emulator.handlers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.types import TopicPartition
from assignors.values import dataclass

US_PER_MS = 1_000
LONGEST_MS = 31_536_000_000.0
"""One year."""

Pair = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that poll() returned."""

    topic: str
    partition: int
    offset: int
    key: int | str
    """The name of its key if the topic has ``keys``, as frequent as they say; else one of 1,000 numbers, all
    equally frequent."""

    delivery: int = 0
    """The number of the poll of this process that returned it, from 1 on."""

    id: int = -1
    """Its offset; of a copy that its producer wrote (``repeats`` of the topic), that of the first one."""

    def __str__(self) -> str:
        """Return topic, partition and offset."""
        return f"{self.topic}-{self.partition}, offset {self.offset}"


@dataclass(frozen=True, slots=True)
class Process:
    """Process a record, and wait until it is finished; yields None."""

    record: Record
    ms: float | None = None
    """Milliseconds; None: the time that the scenario's ``work`` says."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_record("Process", self.record)
        _check_ms("Process", self.ms)


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a record and continue at once: it is finished by itself when its time is over."""

    record: Record
    ms: float | None = None
    """Milliseconds; None: the time that the scenario's ``work`` says."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_record("Begin", self.record)
        _check_ms("Begin", self.ms)


@dataclass(frozen=True, slots=True)
class Drain:
    """Wait until at most so many records that were begun are unfinished."""

    at_most: int = 0

    def __post_init__(self) -> None:
        """Check the field."""
        if type(self.at_most) is not int or self.at_most < 0:
            raise ValueError(f"Drain needs a number of records, 0 or more; got {self.at_most!r}")


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass in the application thread: nothing is polled meanwhile."""

    ms: float

    def __post_init__(self) -> None:
        """Check the field."""
        if self.ms is None:
            raise ValueError("Wait needs a time in milliseconds")
        _check_ms("Wait", self.ms)


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave out a record: it counts as done and was not processed."""

    record: Record

    def __post_init__(self) -> None:
        """Check the field."""
        _check_record("Skip", self.record)


@dataclass(frozen=True, slots=True)
class Fail:
    """Try to process a record, without success: time passes, and the record stays in hand."""

    record: Record
    ms: float | None = None
    """Milliseconds; None: the time that the scenario's ``work`` says."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_record("Fail", self.record)
        _check_ms("Fail", self.ms)


@dataclass(frozen=True, slots=True)
class Forward:
    """Send a record to another topic, such as a dead-letter topic: it counts as processed."""

    record: Record
    to: str | None = None
    """One of ``forwards`` of the handler; None: the topic of the record with ``-dlt`` behind its name."""

    delay_ms: float = 0
    """How much later it can be read there."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_record("Forward", self.record)
        _check_ms("Forward", self.delay_ms)
        if self.to is not None and not isinstance(self.to, str):
            raise TypeError(f"Forward needs the name of a topic; got to={self.to!r:.100}")


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit offsets; yields None, or the name of the exception that ``commitSync`` throws.

    An asynchronous commit yields None and waits for no response. Offsets of a commit without ``offsets`` that failed stay
    uncommitted: the next one sends them again. It is not Kafka's ``commitSync()`` without arguments, which
    commits the positions: all records that poll() has returned, done or not.
    """

    offsets: Mapping[Pair, int] | None = None
    """By topic and partition, the next offset to process. None: of each partition the first record
    that is not done, if records of it were done since the last commit."""

    sync: bool = True
    """Call ``commitSync()`` and wait; False: ``commitAsync()``."""

    def __post_init__(self) -> None:
        """Check the offsets."""
        for pair, offset in (self.offsets or {}).items():
            _check_pair("Commit", pair)
            if type(offset) is not int or offset < 0:
                raise ValueError(f"Commit needs offsets of 0 or more; got {offset!r} for {pair!r}")


@dataclass(frozen=True, slots=True)
class Pause:
    """Call ``pause()``: records of these partitions are not returned. None: all assigned ones."""

    partitions: Iterable[Pair] | None = None

    def __post_init__(self) -> None:
        """Check the partitions."""
        _check_pairs("Pause", self.partitions)


@dataclass(frozen=True, slots=True)
class Resume:
    """Call ``resume()`` for paused partitions. None: all of them."""

    partitions: Iterable[Pair] | None = None

    def __post_init__(self) -> None:
        """Check the partitions."""
        _check_pairs("Resume", self.partitions)


@dataclass(frozen=True, slots=True)
class Seek:
    """Call ``seek()``: the next poll begins there; records of the partition in hand are dropped."""

    partition: Pair
    offset: int

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_pair("Seek", self.partition)
        if type(self.offset) is not int or self.offset < 0:
            raise ValueError(f"Seek needs an offset of 0 or more; got {self.offset!r}")


@dataclass(frozen=True, slots=True)
class Exit:
    """End the process with an exception of the application."""

    reason: str = "the handler raised"


ACTIONS: tuple[type, ...] = (
    Process,
    Begin,
    Drain,
    Wait,
    Skip,
    Fail,
    Forward,
    Commit,
    Pause,
    Resume,
    Seek,
    Exit,
)


def partition_of(pair: Pair) -> TopicPartition:
    """Return a topic and a number as a partition."""
    return TopicPartition(pair[0], pair[1])


def us_of(ms: float) -> int:
    """Return a time in microseconds."""
    return round(ms * US_PER_MS)


def _check_record(action: str, record: object) -> None:
    if not isinstance(record, Record):
        raise TypeError(f"{action} needs a record that handle() was given; got {record!r:.100}")


def _check_ms(action: str, ms: object) -> None:
    if ms is None:
        return
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= LONGEST_MS:
        raise ValueError(f"{action} needs a time in milliseconds, 0 or more; got ms={ms!r}")


def _check_pairs(action: str, pairs: object) -> None:
    if pairs is None:
        return
    if isinstance(pairs, str) or not isinstance(pairs, list | tuple | set | frozenset):
        raise TypeError(
            f"{action} needs a list of (topic, number) pairs, or nothing for all partitions; "
            f"got {pairs!r:.100}"
        )
    for pair in pairs:
        _check_pair(action, pair)


def _check_pair(action: str, pair: object) -> None:
    shaped = isinstance(pair, tuple) and len(pair) == 2
    if not shaped or not isinstance(pair[0], str) or type(pair[1]) is not int:  # type: ignore[index]  # it is shaped
        raise TypeError(f"{action} needs (topic, number) pairs; got {pair!r:.100}")
