"""Faults and acts: what is done to the run, and when.

Each happens at a time, at random in a window, or aimed at a moment of the protocol.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.broker_faults import (
    CrashBroker,
    DeleteGroup,
    DeleteOffsets,
    FillDisk,
    MoveCoordinator,
    PauseBroker,
    ResetOffsets,
    RollingBrokerRestart,
    SlowDisk,
    StopBroker,
)
from emulator.scenario.distributions import Duration, PositiveDuration
from emulator.scenario.kafka_settings import ConsumerTable
from emulator.scenario.part import Part
from emulator.scenario.timing import Timed


class Crash(Timed):
    """Kill a member's process: it neither leaves nor commits."""

    verb: Literal["crash"] = "crash"
    member: str
    restart_after: Duration | None = None


class Close(Timed):
    """Ask a member to stop (SIGTERM): it finishes the batch, closes the consumer and exits."""

    verb: Literal["close"] = "close"
    member: str
    mid_batch: bool = False
    """Stop the batch after the current record."""

    grace: Duration | None = None
    """Kill the process if it has not exited after this time."""

    restart_after: Duration | None = None
    """Counted from the exit of the process."""


class Start(Timed):
    """Start a member's process; it joins its group."""

    verb: Literal["start"] = "start"
    member: str
    settings: ConsumerTable | None = None
    """Kafka's consumer settings from this start on; they override those of the file. Left out: the
    settings of its last run."""

    unset: tuple[str, ...] = ()
    """Names of settings of the file to remove."""


class Pause(Timed):
    """Stop the whole process for a while (SIGSTOP, a long garbage collection)."""

    verb: Literal["pause"] = "pause"
    member: str
    lasting: PositiveDuration = Field(alias="for")


class Hang(Timed):
    """Make the handler hang on its next record; the heartbeat thread continues."""

    verb: Literal["hang"] = "hang"
    member: str
    lasting: PositiveDuration = Field(alias="for")


class FailListener(Timed):
    """Make a member's rebalance listener throw; poll() then throws the same exception."""

    verb: Literal["fail_listener"] = "fail_listener"
    member: str
    lasting: PositiveDuration = Field(alias="for")
    call: Literal["assigned", "revoked", "lost"] | None = None
    """Calls that throw; left out: all."""

    caught: bool = False
    """The application catches the exception of poll() and polls again after ``backoff``; false:
    the process exits."""

    backoff: PositiveDuration = 1_000_000


class Cut(Timed):
    """Drop all messages between two parties (one-way: from the first to the second)."""

    verb: Literal["cut"] = "cut"
    parties: tuple[str, str]
    """Consumer names, ``broker-N``, ``coordinator of GROUP``, ``clients``, ``admin``, ``brokers``
    (all of them), ``controller``. Two brokers may be cut from each other: followers then cannot
    fetch. A broker cut from the controller is fenced, but still acts as leader.
    """

    one_way: bool = False
    lasting: PositiveDuration = Field(alias="for")


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


def _kind_of_order(value: object) -> str:
    return "=word" if isinstance(value, str) else "=names"


Order = Annotated[
    Annotated[Literal["listed", "reversed"], Tag("=word")]
    | Annotated[tuple[str, ...], Tag("=names")],
    Discriminator(_kind_of_order),
]


class RollingRestart(Timed):
    """Close and start the members of a group one by one."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Order = "listed"
    """As listed, reversed, or by name."""

    gap: Duration = 0
    """From a member's start to the next one's close."""

    down_time: Duration = 0
    """From a member's end to its start."""

    surge: bool = False
    """Start a replacement, called ``<name>+``, before the old one closes."""

    mid_batch: bool = False
    """Stop the batch after the current record."""

    grace: Duration | None = None
    """Kill a member that has not exited after this time."""

    stop_at_failure: bool = False
    """Stop when the previous member has exited by itself since its start, like a deploy with
    health checks."""

    settings: ConsumerTable | None = None
    """Kafka's consumer settings of the members from their start on; they override those of the file:
    ``{ "group.protocol" = "consumer" }`` is a migration. Left out: those of their last run."""

    unset: tuple[str, ...] = ()
    """Names of settings of the file to remove, such as those that Kafka refuses with the other
    protocol."""


class Subscribe(Timed):
    """Change the topics of the members of a group.

    A running member calls subscribe() before its next poll(); one that starts later uses them, too.
    """

    verb: Literal["subscribe"] = "subscribe"
    group: str
    topics: tuple[str, ...] = Field(min_length=1)
    """The new topics; they replace the previous ones."""

    order: Order = "listed"
    """As listed, reversed, or by name: only those members."""

    gap: Duration = 0
    """Time between two members."""


class MessageMatch(Part):
    """One message: the n-th of its kind between two parties, from a time on."""

    kind: Literal[
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "ConsumerGroupHeartbeat",
        "OffsetCommit",
        "OffsetFetch",
        "Metadata",
    ]
    part: Literal["request", "response"] = "response"
    member: str
    nth: int = Field(1, ge=1)
    before: Duration | None = None
    """Only messages sent before this time count."""


class LoseMessage(Timed):
    """Lose one message; messages count from the time of the fault on."""

    verb: Literal["lose_message"] = "lose_message"
    message: MessageMatch

    @model_validator(mode="before")
    @classmethod
    def _from_the_start(cls, value: Any) -> Any:
        return short_forms.from_the_start(value)


class DelayMessage(Timed):
    """Delay one message; messages count from the time of the fault on."""

    verb: Literal["delay_message"] = "delay_message"
    message: MessageMatch
    by: Duration | None = None
    """Additional delay of the message."""

    until: Duration | None = None
    """Earliest arrival of the message."""

    @model_validator(mode="before")
    @classmethod
    def _from_the_start(cls, value: Any) -> Any:
        return short_forms.from_the_start(value)

    @model_validator(mode="after")
    def _delayed_once(self) -> Self:
        if (self.by is None) == (self.until is None):
            raise ValueError('say how late by exactly one of "by" and "until"')
        return self


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
    | Annotated[MoveCoordinator, Tag("=move_coordinator")]
    | Annotated[AddPartitions, Tag("=add_partitions")]
    | Annotated[CreateTopic, Tag("=create_topic")]
    | Annotated[DeleteTopic, Tag("=delete_topic")]
    | Annotated[DeleteOffsets, Tag("=delete_offsets")]
    | Annotated[ResetOffsets, Tag("=reset_offsets")]
    | Annotated[DeleteGroup, Tag("=delete_group")]
    | Annotated[RollingRestart, Tag("=rolling_restart")]
    | Annotated[Subscribe, Tag("=subscribe")]
    | Annotated[LoseMessage, Tag("=lose_message")]
    | Annotated[DelayMessage, Tag("=delay_message")],
    Discriminator(_verb),
    BeforeValidator(short_forms.fault),
]
"""A file writes the verb as a key: ``crash = "billing-1"``."""
