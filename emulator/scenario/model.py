"""A scenario as values: what a user's file says, checked and in microseconds.

TOML is only its spelling; everything here can be built in Python too. Durations are integer
microseconds (``…_us`` in the names of fields that are not spelled in a file).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.scenario.units import Duration, Rate, Size


class Part(BaseModel):
    """Any table of a scenario file: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# -- distributions ---------------------------------------------------------------------------


class Constant(Part):
    constant: Duration


class Uniform(Part):
    uniform: tuple[Duration, Duration]


class Exponential(Part):
    exponential: Duration
    """The mean."""


class LognormalShape(Part):
    median: Duration
    p99: Duration


class Lognormal(Part):
    lognormal: LognormalShape


class ParetoShape(Part):
    minimum: Duration
    alpha: float = Field(gt=0)
    maximum: Duration | None = None


class Pareto(Part):
    pareto: ParetoShape


class Trace(Part):
    """Times replayed in order of record offset, from the start again at the end."""

    trace: tuple[Duration, ...] = Field(min_length=1)


Distribution = Constant | Uniform | Exponential | Lognormal | Pareto | Trace
"""A file also writes a plain duration for a constant, and a path (text file, one duration a
line, relative to the scenario) for a trace."""


# -- cluster, network, topics ----------------------------------------------------------------


class Cluster(Part):
    brokers: int = Field(3, ge=1, le=1000)
    racks: tuple[str, ...] = ()
    """Rack of broker 1, 2, …; empty: none configured."""

    settings: dict[str, object] = {}
    """Kafka's broker settings by name, the same on every broker."""

    replication: Distribution = Constant(constant=1_000)
    """From an append to the high watermark that covers it."""

    load: Distribution = Constant(constant=10_000)
    """How long a new coordinator takes to load a group's partition."""


class Link(Part):
    """One direction between two parties, where it differs from the rest of the network.

    A party is a consumer's name, ``broker-N``, ``clients`` or ``brokers``.
    """

    sender: str = Field(alias="from")
    receiver: str = Field(alias="to")
    latency: Distribution | None = None
    loss: float | None = Field(None, ge=0, le=1)


class Network(Part):
    latency: Distribution = Constant(constant=500)
    """One way."""

    loss: float = Field(0.0, ge=0, le=1)
    """Share of group requests and responses that never arrive."""

    link: tuple[Link, ...] = ()


class Poisson(Part):
    poisson: Rate


class BurstShape(Part):
    rate: Rate
    lasting: Duration = Field(alias="for")
    every: Duration
    between: Rate = 0.0
    """The rate outside the bursts."""


class Bursts(Part):
    bursts: BurstShape


class Topic(Part):
    name: str
    partitions: int = Field(1, ge=1, le=1_000_000)
    rate: Rate | Poisson | Bursts = 0.0
    """Records a second to each partition; a plain rate comes at equal distances."""

    skew: tuple[float, ...] = ()
    """Factors on the rate, for partition 0, 1, …; missing ones are 1."""

    backlog: int = Field(0, ge=0)
    """Records in each partition before the run begins."""

    backlog_at: Duration = 0
    """When the backlog is there."""

    record_size: Size = 1024
    retention: Duration | None = None
    """Records older than this are gone; checked once a second."""

    created: Duration | Literal["by act"] = 0
    """``by act``: it exists from its ``create_topic`` on."""

    produce_from: Duration = 0
    produce_until: Duration | None = None
    replication: int | None = Field(None, ge=1)
    leaders: tuple[int, ...] = ()
    """Broker of partition 0, 1, …; missing ones go round."""


# -- groups ----------------------------------------------------------------------------------


class CommitPolicy(Part):
    """Who commits what, when."""

    call: Literal["auto", "sync", "async", "none"] = "auto"
    when: Literal["batch", "record", "before", "every"] = "batch"
    """After each batch, after each record, after poll and before the work, or every so often."""

    every: Duration | None = None
    records: int | None = Field(None, ge=1)
    between_batches: bool = True
    """``every`` and ``records`` are looked at after a batch; False: after each record."""

    arguments: bool = True
    """False: commitSync() without offsets, which covers all that poll returned."""

    on_revoke: bool = False
    """Also commit in the revoke listener."""

    off_by_one: bool = False
    """The mistake of committing the last processed offset instead of the next one."""

    retry_older: Duration | None = None
    """The mistake of sending an async commit again, this much later, whatever came since."""

    on_refusal: Literal["ignore", "discard", "stop"] = "ignore"
    """After a refused commit: go on, throw the rest of the batch away, or let the process die."""


class Poison(Part):
    """One record that is not like the others."""

    topic: str
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)
    work: Duration | None = None
    """How long its work takes."""

    error: Literal["retry", "skip", "stop"] | None = None
    """Its work fails: try again after ``backoff``, go on with the next, or let the process die."""

    attempts: int = Field(1, ge=1)
    """With ``retry``: how often it fails before it succeeds."""

    backoff: Duration = 1_000_000


class Member(Part):
    name: str
    settings: dict[str, object] = {}
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    work: Distribution | None = None
    commit: CommitPolicy | None = None
    poll_timeout: Duration | None = None
    start: Duration | Literal["by act"] = 0
    """``by act``: it runs from its ``start`` on."""

    assignor_config: dict[str, object] = {}
    """Given to an assignor of one's own when it is made."""


class Group(Part):
    id: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    """A regular expression for topic names, instead of ``topics``."""

    members: tuple[Member, ...]
    """A file may give a number: then they are called ``<id>-0``, ``<id>-1``, …"""

    static: bool = False
    """Give each member its name as ``group.instance.id``."""

    settings: dict[str, object] = {}
    """Kafka's consumer settings by name, for all members."""

    work: Distribution = Constant(constant=1_000)
    """Of one record; records of a member are worked off one after the other."""

    commit: CommitPolicy = CommitPolicy()
    poison: tuple[Poison, ...] = ()
    poll_timeout: Duration = 100_000
    listener: Distribution = Constant(constant=0)
    """How long a call of the rebalance listener takes, commits in it apart."""

    close_timeout: Duration = 30_000_000
    coordinator: int | None = None
    """Broker that coordinates the group at first; None: by placement of its partition."""


# -- faults and acts -------------------------------------------------------------------------


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
    after: Duration = 0
    """Only steps from this time on count."""


class After(Part):
    """A moment relative to another fault or act."""

    fault: str
    """Its id."""

    phase: Literal["begins", "ends"] = "ends"


class Timed(Part):
    """What all faults and acts share: an id, and exactly one of the ways to say when."""

    id: str = ""
    """Empty in a file: the verb and a number."""

    at: Duration | None = None
    between: tuple[Duration, Duration] | None = None
    """At random in this window."""

    when: Step | After | None = None
    delay: Duration = 0
    """Added to any of the three."""


class Crash(Timed):
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
    verb: Literal["start"] = "start"
    member: str


class Pause(Timed):
    """Stop the whole process for a while (SIGSTOP, a long garbage collection)."""

    verb: Literal["pause"] = "pause"
    member: str
    lasting: Duration = Field(alias="for")


class Hang(Timed):
    """Let the handler hang on the next record it begins; the heartbeat thread lives on."""

    verb: Literal["hang"] = "hang"
    member: str
    lasting: Duration = Field(alias="for")


class Cut(Timed):
    """Let nothing through between two parties (one-way: from the first to the second)."""

    verb: Literal["cut"] = "cut"
    parties: tuple[str, str]
    """Consumer names, ``broker-N``, ``coordinator of GROUP``, ``clients``, ``brokers``."""

    one_way: bool = False
    lasting: Duration = Field(alias="for")


class CrashBroker(Timed):
    verb: Literal["crash_broker"] = "crash_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None


class PauseBroker(Timed):
    verb: Literal["pause_broker"] = "pause_broker"
    broker: str
    lasting: Duration = Field(alias="for")


class MoveCoordinator(Timed):
    verb: Literal["move_coordinator"] = "move_coordinator"
    group: str
    to: str | None = None
    """``broker-N``; None: the next one."""


class AddPartitions(Timed):
    verb: Literal["add_partitions"] = "add_partitions"
    topic: str
    to: int = Field(ge=1)


class CreateTopic(Timed):
    verb: Literal["create_topic"] = "create_topic"
    topic: str


class DeleteTopic(Timed):
    verb: Literal["delete_topic"] = "delete_topic"
    topic: str


class RollingRestart(Timed):
    """Close and start the members of a group one after the other."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Literal["listed", "reversed"] | tuple[str, ...] = "listed"
    gap: Duration = 0
    """From a member's start to the next one's close."""

    down_time: Duration = 0
    surge: bool = False
    """Start a stand-in, called ``<name>+``, before the old one closes."""

    mid_batch: bool = False
    grace: Duration | None = None


class MessageMatch(Part):
    """A chosen message: the n-th of its kind between two parties, from a time on."""

    kind: Literal[
        "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch"
    ]
    part: Literal["request", "response"] = "response"
    member: str
    nth: int = Field(1, ge=1)


class LoseMessage(Timed):
    verb: Literal["lose_message"] = "lose_message"
    message: MessageMatch


class DelayMessage(Timed):
    verb: Literal["delay_message"] = "delay_message"
    message: MessageMatch
    by: Duration | None = None
    until: Duration | None = None


Fault = Annotated[
    Crash
    | Close
    | Start
    | Pause
    | Hang
    | Cut
    | CrashBroker
    | PauseBroker
    | MoveCoordinator
    | AddPartitions
    | CreateTopic
    | DeleteTopic
    | RollingRestart
    | LoseMessage
    | DelayMessage,
    Field(discriminator="verb"),
]


class Bound(Part):
    """What a scenario expects of one metric: ``"<= 200"``, ``0``, or ``">= 1"``."""

    relation: Literal["<", "<=", "==", ">=", ">"]
    value: float


class Scenario(Part):
    title: str
    description: str = ""
    run_for: Duration
    """The run ends before this instant."""

    seed: int = Field(0, ge=0, lt=2**64)
    start: datetime | None = None
    """Makes output speak clock time."""

    lag_every: Duration = 1_000_000
    """How often lag is sampled."""

    cluster: Cluster = Cluster()
    network: Network = Network()
    topic: tuple[Topic, ...] = Field(min_length=1)
    group: tuple[Group, ...] = Field(min_length=1)
    fault: tuple[Fault, ...] = ()
    expect: dict[str, Bound] = {}
