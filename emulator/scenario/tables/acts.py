"""Acts: deploys, what administrators do to topics, brokers and offsets."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from emulator.scenario.kafka_settings import ConsumerTable
from emulator.scenario.part import NotEmpty, word_or_other
from emulator.scenario.problems import listed
from emulator.scenario.tables.distributions import (
    Distribution,
    Duration,
    PositiveDuration,
    TimeOfRun,
    always,
)
from emulator.scenario.tables.faults import Timed
from emulator.scenario.units import PERCENT, parse_replicas

Order = Annotated[
    Annotated[Literal["listed", "reversed", "random"], Tag("=word")]
    | Annotated[tuple[str, ...], Tag("=other")],
    Discriminator(word_or_other),
]


_SCHEMAS: tuple[dict[str, object], ...] = (
    {"type": "integer", "minimum": 0},
    {"type": "string", "pattern": PERCENT, "examples": ["25%"]},
)
Replicas = Annotated[
    int | str, PlainValidator(parse_replicas), WithJsonSchema({"anyOf": [*_SCHEMAS]})
]
"""A number of members, or ``"25%"`` of them."""

Surge = Annotated[
    bool | int | str,
    PlainValidator(lambda given: given if isinstance(given, bool) else parse_replicas(given)),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, *_SCHEMAS]}),
]


class Close(Timed):
    """Ask a member to stop (SIGTERM): it finishes the batch, closes the consumer and exits."""

    verb: Literal["close"] = "close"
    member: str
    mid_batch: bool = False
    """Stop the batch after the current record."""

    grace: Duration | None = None
    """Kill the process if it has not exited after this time."""

    restart_after: Duration | None = None
    """Counted from the exit of the process; left out: it does not come back."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer."""


class Start(Timed):
    """Start a member's process; it joins its group."""

    verb: Literal["start"] = "start"
    member: str
    settings: ConsumerTable | None = None
    """Kafka's consumer settings from this start on; they override those of the file. Left out: the
    settings of its last run."""

    unset: tuple[str, ...] = ()
    """Names of settings of the file to remove."""


class RollingRestart(Timed):
    """Close and start the members of a group one by one."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Order = "listed"
    """As listed, reversed, random (by the seed), or by name."""

    max_unavailable: Replicas | None = None
    """Members that are restarted at the same time, the old process first. Left out: 1; with a number in
    ``surge``, 0; with random names, 25%."""

    gap: Duration = 0
    """From the end of a member's restart to the beginning of the next one's. A restart ends when the started
    member is ready; with ``surge``, when the old one has ended. With random names: from a new member's
    readiness until it counts as available."""

    down_time: Duration = 0
    """From a member's end to its start; with ``surge``, from the successor's readiness to the old one's
    stop. With random names: from the creation of the new pod to the start of its process."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer; drawn for each member."""

    pre_stop: Duration = 0
    """From the decision to stop a member to its SIGTERM; it works on, and ``grace`` includes this time."""

    surge: Surge | None = None
    """Members that are replaced at the same time by one called ``<name>+``, which starts before the old one
    closes; ``true``: as many as ``max_unavailable`` says; no old process then ends first. Left out: none;
    with random names, 25%."""

    names: Literal["ordinal", "random"] = "ordinal"
    """``ordinal``: a successor has the instance id of its predecessor and, except with ``surge``, its name
    (StatefulSet); ``random``: a new name, ``<name>+``, and with it a new instance id (Deployment). A
    successor with a random name boots while its predecessor closes, and the next replacement begins without
    waiting for its end."""

    stand_in: bool = False
    """While a static member is down, a spare process, ``<name>*``, runs with its instance id."""

    readiness: Literal["started", "assigned"] = "started"
    """When a started member is ready: when its consumer runs, or when it owns a partition. The next
    member is stopped after that; with ``surge``, the old one too."""

    ready_after: Duration = 0
    """From the start of its consumer to the first readiness probe."""

    probe_every: PositiveDuration = 10_000_000
    """From a probe that fails to the next one; of canaries, from each to the next."""

    deadline: PositiveDuration = 600_000_000
    """Give the deploy up if a member is not ready so long after its start."""

    canary: int = Field(0, ge=0)
    """Members that are restarted first; the others are restarted only if all of these are ready after ``canary_for``, and
    none has ended before that."""

    canary_for: Duration = 60_000_000
    """How long the canaries run before the others are restarted."""

    canary_lag: int | None = Field(None, ge=0)
    """Records: a canary fails if a probe finds more of them unprocessed in one of its partitions."""

    canary_errors: int | None = Field(None, ge=0)
    """The canaries fail with more errors than this: records whose processing fails, refused commits,
    exceptions of their listeners, and clients that drop out of the group."""

    roll_back: bool = False
    """If a canary fails, replace all that were restarted by members with their earlier settings, by the same
    rules and in the same order; successors that were not ready end first."""

    mid_batch: bool = False
    """Stop the batch after the current record."""

    grace: Duration | None = None
    """Kill a member that has not exited after this time."""

    stop_at_failure: bool = False
    """Stop when the previous member has exited by itself since its start."""

    settings: ConsumerTable | None = None
    """Kafka's consumer settings of the members from their start on; they override those of the file.
    Left out: those of their last run."""

    unset: tuple[str, ...] = ()
    """Names of settings of the file to remove."""


class Subscribe(Timed):
    """Change the topics of the members of a group.

    A running member calls subscribe() before its next poll(); one that starts later uses them, too.
    """

    verb: Literal["subscribe"] = "subscribe"
    group: str
    topics: tuple[str, ...] = Field(min_length=1)
    """The new topics; they replace the previous ones."""

    order: Order = "listed"
    """As listed, reversed, random (by the seed), or by name: only those members."""

    gap: Duration = 0
    """Time between two members."""


Partitions = tuple[Annotated[int, Field(ge=0)], ...]

TARGETS = ("to", "shift_by", "by_duration", "to_datetime")
"""The keys that give the target of a reset or of a seek."""


def _known_target(value: object) -> object:
    if isinstance(value, str) and value not in ("earliest", "latest"):
        raise ValueError('allowed is "earliest", "latest", or an offset')
    return value


OffsetTarget = Annotated[
    Annotated[Literal["earliest", "latest"], Tag("=word")]
    | Annotated[int, Field(ge=0), Tag("=other")],
    Discriminator(word_or_other),
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


class PausePartitions(Timed):
    """Make a running member call pause() on partitions that it owns, before its next poll(), and resume() later.

    A rebalance that takes a partition away, and an eager one always, ends its pause.
    """

    verb: Literal["pause_partitions"] = "pause_partitions"
    member: str
    topic: str | None = None
    """Left out: all topics of its partitions."""

    partitions: Partitions = ()
    """With ``topic``; left out: all that it owns."""

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


class StopBroker(Timed):
    """Shut a broker down (SIGTERM): its leaders move first; that takes no time of its own."""

    verb: Literal["stop_broker"] = "stop_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None
    """From the end of the process to its start; left out: it does not come back."""


class RollingBrokerRestart(Timed):
    """Stop and start brokers one by one."""

    verb: Literal["rolling_broker_restart"] = "rolling_broker_restart"
    brokers: Annotated[
        Annotated[Literal["brokers"], Tag("=word")] | Annotated[NotEmpty[str], Tag("=other")],
        Discriminator(word_or_other),
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
    """The topic whose offsets are deleted."""

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
