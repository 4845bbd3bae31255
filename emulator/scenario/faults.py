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
    """Kill a member's process: nothing is sent, nothing is committed."""

    verb: Literal["crash"] = "crash"
    member: str
    restart_after: Duration | None = None


class Close(Timed):
    """Ask a member to stop (SIGTERM): finish the batch, close the consumer, end."""

    verb: Literal["close"] = "close"
    member: str
    mid_batch: bool = False
    """Leave the batch after the record under work."""

    grace: Duration | None = None
    """Kill it when it has not ended by then."""

    restart_after: Duration | None = None
    """Counted from its end."""


class Start(Timed):
    """Start a member's process; it joins its group."""

    verb: Literal["start"] = "start"
    member: str
    settings: ConsumerTable | None = None
    """Kafka's consumer settings it has from then on, over those that the file gives it; left out:
    as it last ran."""

    unset: tuple[str, ...] = ()
    """Names of settings that the file gives it and that it has no more."""


class Pause(Timed):
    """Stop the whole process for a while (SIGSTOP, a long garbage collection)."""

    verb: Literal["pause"] = "pause"
    member: str
    lasting: PositiveDuration = Field(alias="for")


class Hang(Timed):
    """Let the handler hang on the next record it begins; the heartbeat thread lives on."""

    verb: Literal["hang"] = "hang"
    member: str
    lasting: PositiveDuration = Field(alias="for")


class FailListener(Timed):
    """Let the calls of a member's rebalance listener throw; poll() then throws what they threw."""

    verb: Literal["fail_listener"] = "fail_listener"
    member: str
    lasting: PositiveDuration = Field(alias="for")
    call: Literal["assigned", "revoked", "lost"] | None = None
    """Which calls; left out: all."""

    caught: bool = False
    """The application catches what poll() throws, and polls again after ``backoff``; false: the
    process dies of it."""

    backoff: PositiveDuration = 1_000_000


class Cut(Timed):
    """Let nothing through between two parties (one-way: from the first to the second)."""

    verb: Literal["cut"] = "cut"
    parties: tuple[str, str]
    """Consumer names, ``broker-N``, ``coordinator of GROUP``, ``clients``, ``admin``, ``brokers``
    (all of them), ``controller``. Two brokers may be cut from each other: followers then cannot
    fetch. A broker cut from the controller is fenced, and goes on believing that it leads.
    """

    one_way: bool = False
    lasting: PositiveDuration = Field(alias="for")


class AddPartitions(Timed):
    """Raise the number of partitions of a topic."""

    verb: Literal["add_partitions"] = "add_partitions"
    topic: str
    to: int = Field(ge=1, le=1_000_000)
    """How many there are from then on."""


class CreateTopic(Timed):
    """Create a topic that is ``created = "by act"``."""

    verb: Literal["create_topic"] = "create_topic"
    topic: str


class DeleteTopic(Timed):
    """Delete a topic, its records and what was committed for it."""

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
    """Close and start the members of a group one after the other."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Order = "listed"
    """As listed, the other way round, or by name."""

    gap: Duration = 0
    """From a member's start to the next one's close."""

    down_time: Duration = 0
    """From a member's end to its start."""

    surge: bool = False
    """Start a replacement, called ``<name>+``, before the old one closes."""

    mid_batch: bool = False
    """Leave the batch after the record under work."""

    grace: Duration | None = None
    """Kill a member that has not ended by then."""

    stop_at_failure: bool = False
    """Go no further when the member before has died by itself since its start, as a deploy with
    health checks does."""

    settings: ConsumerTable | None = None
    """Kafka's consumer settings that members have from their start on, over those that the file
    gives them: ``{ "group.protocol" = "consumer" }`` is a migration; left out: as they last ran."""

    unset: tuple[str, ...] = ()
    """Names of settings that the file gives them and that they have no more, such as those that
    Kafka refuses with the other protocol."""


class Subscribe(Timed):
    """Let the members of a group subscribe to other topics.

    A running member calls subscribe() before its next poll(); one that starts later uses them, too.
    """

    verb: Literal["subscribe"] = "subscribe"
    group: str
    topics: tuple[str, ...] = Field(min_length=1)
    """What they read from then on, instead of what they read before."""

    order: Order = "listed"
    """As listed, the other way round, or by name: those alone."""

    gap: Duration = 0
    """From one member's turn to the next one's."""


class MessageMatch(Part):
    """A chosen message: the n-th of its kind between two parties, from a time on."""

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
    """Let one chosen message get lost; its time says from when on messages count."""

    verb: Literal["lose_message"] = "lose_message"
    message: MessageMatch

    @model_validator(mode="before")
    @classmethod
    def _from_the_start(cls, value: Any) -> Any:
        return short_forms.from_the_start(value)


class DelayMessage(Timed):
    """Hold one chosen message up; its time says from when on messages count."""

    verb: Literal["delay_message"] = "delay_message"
    message: MessageMatch
    by: Duration | None = None
    """So much later than it would have come."""

    until: Duration | None = None
    """Not before this time."""

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
