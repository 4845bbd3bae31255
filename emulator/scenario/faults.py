"""Faults and acts: what is done to the run, and when.

Each happens at a time, at random in a window, or aimed at a moment of the protocol.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import spelling
from emulator.scenario.part import Part
from emulator.scenario.problems import listed
from emulator.scenario.quantities import Duration, PositiveDuration


class Step(Part):
    """A moment in the protocol: a member reaches a step."""

    member: str
    step: Literal[
        "polled",
        "batch done",
        "record done",
        "commit sent",
        "commit answered",
        "revoking",
        "revoked",
        "assigned",
        "sent JoinGroup",
        "received JoinGroup",
        "sent SyncGroup",
        "received SyncGroup",
        "sent Heartbeat",
        "sent LeaveGroup",
        "closing",
    ]
    nth: int = Field(1, ge=1)
    """The how many-th time it does."""

    after: Duration = 0
    """Only steps from this time on count."""


class After(Part):
    """A moment relative to another fault or act."""

    fault: str
    """Its id."""

    phase: Literal["begins", "ends"] = "ends"


def _kind_of_moment(value: object) -> str:
    return "=after" if isinstance(value, After) or "fault" in spelling.keys(value) else "=step"


Moment = Annotated[
    Annotated[Step, Tag("=step")] | Annotated[After, Tag("=after")],
    Discriminator(_kind_of_moment),
    BeforeValidator(spelling.when),
]
"""A file also writes ``"billing-1 sent SyncGroup"`` or ``"crash-1 ends"``."""


class Timed(Part):
    """What all faults and acts share: an id, and exactly one of the ways to say when."""

    id: str = Field("", pattern=f"^$|{spelling.PARTY_NAME}")
    """Empty in a file: the verb and a number."""

    at: Duration | None = None
    between: tuple[Duration, Duration] | None = None
    """At random in this window."""

    when: Moment | None = None
    delay: Duration = 0
    """Added to any of the three."""

    @model_validator(mode="after")
    def _timed_once(self) -> Self:
        ways = [key for key in ("at", "between", "when") if getattr(self, key) is not None]
        if len(ways) != 1:
            found = f"both {listed(ways[:2])}" if ways else "no time"
            raise ValueError(f'{found}; say when by exactly one of "at", "between", "when"')
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError('"between" is reversed: the earlier time comes first')
        return self


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


class Cut(Timed):
    """Let nothing through between two parties (one-way: from the first to the second)."""

    verb: Literal["cut"] = "cut"
    parties: tuple[str, str]
    """Consumer names, ``broker-N``, ``coordinator of GROUP``, ``clients``, ``brokers``."""

    one_way: bool = False
    lasting: PositiveDuration = Field(alias="for")


class CrashBroker(Timed):
    """Kill a broker's process."""

    verb: Literal["crash_broker"] = "crash_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None


class PauseBroker(Timed):
    """Stop a broker's process for a while."""

    verb: Literal["pause_broker"] = "pause_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


class MoveCoordinator(Timed):
    """Let another broker lead the offsets partition of a group."""

    verb: Literal["move_coordinator"] = "move_coordinator"
    group: str
    to: str | None = None
    """``broker-N``; left out: the next one."""


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


class RollingRestart(Timed):
    """Close and start the members of a group one after the other."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Annotated[
        Annotated[Literal["listed", "reversed"], Tag("=word")]
        | Annotated[tuple[str, ...], Tag("=names")],
        Discriminator(_kind_of_order),
    ] = "listed"
    """As listed, the other way round, or by name."""

    gap: Duration = 0
    """From a member's start to the next one's close."""

    down_time: Duration = 0
    """From a member's end to its start."""

    surge: bool = False
    """Start a stand-in, called ``<name>+``, before the old one closes."""

    mid_batch: bool = False
    """Leave the batch after the record under work."""

    grace: Duration | None = None
    """Kill a member that has not ended by then."""


class MessageMatch(Part):
    """A chosen message: the n-th of its kind between two parties, from a time on."""

    kind: Literal[
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
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
        return spelling.from_the_start(value)


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
        return spelling.from_the_start(value)

    @model_validator(mode="after")
    def _delayed_once(self) -> Self:
        if (self.by is None) == (self.until is None):
            raise ValueError('say how late by exactly one of "by" and "until"')
        return self


def _verb(value: object) -> str:
    return f"={getattr(value, 'verb', '') or spelling.verb_of(value)}"


Fault = Annotated[
    Annotated[Crash, Tag("=crash")]
    | Annotated[Close, Tag("=close")]
    | Annotated[Start, Tag("=start")]
    | Annotated[Pause, Tag("=pause")]
    | Annotated[Hang, Tag("=hang")]
    | Annotated[Cut, Tag("=cut")]
    | Annotated[CrashBroker, Tag("=crash_broker")]
    | Annotated[PauseBroker, Tag("=pause_broker")]
    | Annotated[MoveCoordinator, Tag("=move_coordinator")]
    | Annotated[AddPartitions, Tag("=add_partitions")]
    | Annotated[CreateTopic, Tag("=create_topic")]
    | Annotated[DeleteTopic, Tag("=delete_topic")]
    | Annotated[RollingRestart, Tag("=rolling_restart")]
    | Annotated[LoseMessage, Tag("=lose_message")]
    | Annotated[DelayMessage, Tag("=delay_message")],
    Discriminator(_verb),
    BeforeValidator(spelling.fault),
]
"""A file writes the verb as a key: ``crash = "billing-1"``."""
