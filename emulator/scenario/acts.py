"""Acts of applications and administrators on positions, topics, brokers and offsets; faults of stores."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario.distributions import Duration, PositiveDuration
from emulator.scenario.faults import Timed
from emulator.scenario.part import NotEmpty
from emulator.scenario.problems import listed

Partitions = tuple[Annotated[int, Field(ge=0)], ...]

TARGETS = ("to", "shift_by", "by_duration", "to_datetime")
"""The keys that give the target of a reset or of a seek."""


def _kind_of_target(value: object) -> str:
    return "=word" if isinstance(value, str) else "=offset"


def _time_of_run(value: object) -> object:
    """Return the value; raise ValueError if it is a date, which ``to_datetime`` of Kafka's tool takes."""
    if _DATE.match(str(value)):
        raise ValueError('a time of the run is needed, such as "3min" (not a date)')
    return value


_DATE = re.compile(r"\d{4}-\d\d")
TimeOfRun = Annotated[Duration, BeforeValidator(_time_of_run)]


def _known_target(value: object) -> object:
    if isinstance(value, str) and value not in ("earliest", "latest"):
        raise ValueError('allowed is "earliest", "latest", or an offset')
    return value


OffsetTarget = Annotated[
    Annotated[Literal["earliest", "latest"], Tag("=word")]
    | Annotated[int, Field(ge=0), Tag("=offset")],
    Discriminator(_kind_of_target),
    BeforeValidator(_known_target),
]


def _check_target(act: ResetOffsets | Seek) -> None:
    """Raise ValueError unless an act has exactly one target, and a topic if it has partitions."""
    given = [way for way in TARGETS if getattr(act, way) is not None]
    if len(given) != 1:
        found = f"both {listed(given[:2])}" if given else "no target"
        raise ValueError(f"{found}; set exactly one of {listed(TARGETS)}")
    if act.partitions and act.topic is None:
        raise ValueError('"partitions" needs "topic"')


class Seek(Timed):
    """Make a running member call seek() on partitions that it owns, before its next poll().

    Records that it has in hand are processed first. Only for the Java client.
    """

    verb: Literal["seek"] = "seek"
    member: str
    topic: str | None = None
    """Left out: all topics of its partitions."""

    partitions: Partitions = ()
    """With ``topic``; left out: all that it owns."""

    to: OffsetTarget | None = None
    """The beginning, the end, or an offset."""

    shift_by: int | None = None
    """Number of records to move forward from the position; below 0: backward."""

    by_duration: PositiveDuration | None = None
    """To the first record not older than this."""

    to_datetime: TimeOfRun | None = None
    """To the first record at or after this time of the run; the end if there is none."""

    @model_validator(mode="after")
    def _has_one_target(self) -> Self:
        _check_target(self)
        return self


class AddPartitions(Timed):
    """Raise the number of partitions of a topic."""

    verb: Literal["add_partitions"] = "add_partitions"
    topic: str
    to: int = Field(ge=1, le=1_000_000)
    """The new number of partitions."""


class CreateTopic(Timed):
    """Create a topic that is ``created = "by act"``."""

    verb: Literal["create_topic"] = "create_topic"
    topic: str


class DeleteTopic(Timed):
    """Delete a topic, its records and its committed offsets."""

    verb: Literal["delete_topic"] = "delete_topic"
    topic: str


class StopBroker(Timed):
    """Shut a broker down (SIGTERM): its leaders move first; that takes no time of its own."""

    verb: Literal["stop_broker"] = "stop_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None


def _kind_of_brokers(value: object) -> str:
    return "=word" if isinstance(value, str) else "=names"


class RollingBrokerRestart(Timed):
    """Stop and start brokers one by one."""

    verb: Literal["rolling_broker_restart"] = "rolling_broker_restart"
    brokers: Annotated[
        Annotated[Literal["brokers"], Tag("=word")] | Annotated[NotEmpty[str], Tag("=names")],
        Discriminator(_kind_of_brokers),
    ]
    """``brokers`` for all of them, or a list of ``broker-N`` in the order of their restarts."""

    gap: Duration = 0
    """From a broker's start to the next one's stop."""

    down_time: Duration = 0
    """From a broker's stop to its start."""

    clean: bool = True
    """Controlled shutdown: each broker moves its leaders before it stops. False: kill it; it cannot
    be back before its session expires."""


class MoveCoordinator(Timed):
    """Make another broker the leader of the offsets partition of a group."""

    verb: Literal["move_coordinator"] = "move_coordinator"
    group: str
    to: str | None = None
    """``broker-N`` with an in-sync replica; left out: the next broker with one."""


TOOL_TIMEOUT_US = 5_000_000
"""The default ``--timeout`` of ``kafka-consumer-groups``."""


class DeleteOffsets(Timed):
    """Delete the committed offsets of a topic (``kafka-consumer-groups --delete-offsets``).

    Refused while members of the group subscribe to the topic.
    """

    verb: Literal["delete_offsets"] = "delete_offsets"
    group: str
    topic: str
    partitions: Partitions = ()
    """Left out: all partitions of the topic."""

    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """Timeout of each request of the tool."""


class ResetOffsets(Timed):
    """Commit other offsets for a group (``kafka-consumer-groups --reset-offsets --execute``).

    Refused unless the group has no members.
    """

    verb: Literal["reset_offsets"] = "reset_offsets"
    group: str
    topic: str | None = None
    """Left out: all topics for which the group has committed offsets."""

    partitions: Partitions = ()
    """With ``topic``; left out: all partitions."""

    to: OffsetTarget | None = None
    """The beginning, the end, or an offset."""

    shift_by: int | None = None
    """Number of records to move forward from the committed offset; below 0: backward."""

    by_duration: PositiveDuration | None = None
    """To the first record not older than this."""

    to_datetime: TimeOfRun | None = None
    """To the first record at or after this time of the run."""

    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """Timeout of each request of the tool."""

    @model_validator(mode="after")
    def _has_one_target(self) -> Self:
        _check_target(self)
        return self


class DeleteGroup(Timed):
    """Delete a group with all its committed offsets (``kafka-consumer-groups --delete``).

    Refused while the group has members.
    """

    verb: Literal["delete_group"] = "delete_group"
    group: str
    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """Timeout of the request of the tool."""


StoreName = Literal["zookeeper", "database"]


class SlowStore(Timed):
    """Make the store of offsets outside Kafka slow for a time."""

    verb: Literal["slow_store"] = "slow_store"
    store: StoreName
    by: PositiveDuration
    """Additional time of each read and of each write."""

    lasting: PositiveDuration = Field(alias="for")


class StopStore(Timed):
    """Make the store of offsets outside Kafka unavailable for a time.

    The ensemble has no quorum, or the database is down; what is in flight is not written.
    """

    verb: Literal["stop_store"] = "stop_store"
    store: StoreName
    lasting: PositiveDuration = Field(alias="for")


class RestoreStore(Timed):
    """Restore a backup of the store of offsets outside Kafka: it goes back to an earlier instant.

    It is unavailable meanwhile, and connections to it break.
    """

    verb: Literal["restore_store"] = "restore_store"
    store: StoreName
    age: PositiveDuration
    """How old the backup is when the restore begins; a backup from before the run is empty."""

    what: Literal["everything", "offsets"] = "everything"
    """``everything``: a database's offsets, and the results that were written in the same transactions;
    ``offsets``: the results stay. ZooKeeper has only offsets."""

    lasting: Duration = Field(0, alias="for")
    """How long the restore takes."""
