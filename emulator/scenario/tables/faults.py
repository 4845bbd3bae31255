"""Faults: crashes, pauses, cut connections, and single messages; and the times of faults and acts.

A fault or act begins at a time, at random in a window, or at a step of the protocol.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.problems import listed
from emulator.scenario.tables.distributions import Distribution, Duration, PositiveDuration, always


class Step(Part):
    """A member reaches a step of the protocol."""

    member: str
    """The member that reaches it."""

    step: short_forms.StepName
    """One of the steps above."""

    nth: int = Field(1, ge=1)
    """Only the n-th time."""

    after: Duration = 0
    """Count only steps from this time on."""


class After(Part):
    """A moment relative to another fault or act."""

    fault: str
    """Its id."""

    phase: Literal["begins", "ends"] = "ends"
    """Whether the other one begins or ends."""


def _kind_of_moment(value: object) -> str:
    return "=after" if isinstance(value, After) or "fault" in short_forms.keys(value) else "=step"


Moment = Annotated[
    Annotated[Step, Tag("=step")] | Annotated[After, Tag("=after")],
    Discriminator(_kind_of_moment),
    BeforeValidator(short_forms.when),
]
"""A file also writes ``"billing-1 sent SyncGroup"`` or ``"crash-1 ends"``."""


class Timed(Part):
    """The keys of all faults and acts: an id, and exactly one way to give the time."""

    id: str = Field("", pattern=f"^$|{short_forms.PARTY_NAME}")
    """Empty in a file: the verb and a number."""

    at: Duration | None = None
    """The time of the run."""

    between: tuple[Duration, Duration] | None = None
    """At random in this window."""

    when: Moment | None = None
    """A step of a member, or another fault; see below."""

    delay: Duration = 0
    """Added to ``at``, ``between`` or ``when``."""

    @model_validator(mode="after")
    def _timed_once(self) -> Self:
        ways = [key for key in ("at", "between", "when") if getattr(self, key) is not None]
        if len(ways) != 1:
            found = f"both {listed(ways[:2])}" if ways else "no time"
            raise ValueError(f'{found}; set exactly one of "at", "between", "when"')
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError('"between" is reversed: the earlier time comes first')
        return self


class Crash(Timed):
    """Kill a member's process: it neither leaves nor commits."""

    verb: Literal["crash"] = "crash"
    member: str
    restart_after: Duration | None = None
    """From the crash to the start of a new process; left out: it does not come back."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer."""


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
    """With ``caught``: the wait before the next poll."""


class Cut(Timed):
    """Drop all messages between two parties (one-way: from the first to the second)."""

    verb: Literal["cut"] = "cut"
    parties: tuple[str, str]
    """Consumer names, ``broker-N``, ``coordinator of GROUP``, ``clients``, ``admin``, ``brokers``
    (all of them), ``controller``. Two brokers may be cut from each other: followers then cannot
    fetch. A broker cut from the controller is fenced, but still acts as leader.
    """

    one_way: bool = False
    """Drop only the messages from the first party to the second."""

    lasting: PositiveDuration = Field(alias="for")


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
        "FindCoordinator",
    ]
    """The request of this kind, or its response."""

    part: Literal["request", "response"] = "response"
    """Which of the two."""

    member: str
    """The member that sends the request."""

    nth: int = Field(1, ge=1)
    """The n-th message that matches."""

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
            raise ValueError('set exactly one of "by" and "until"')
        return self


class CrashBroker(Timed):
    """Kill a broker's process."""

    verb: Literal["crash_broker"] = "crash_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None
    """It serves again when it can register: at the earliest ``broker.session.timeout.ms`` after the
    crash, since the controller considers the old process alive until then."""


class PauseBroker(Timed):
    """Pause a broker's process for a time (SIGSTOP)."""

    verb: Literal["pause_broker"] = "pause_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


class DrainNode(Timed):
    """Stop the members of one machine at the same time: a node is drained, or a spot instance reclaimed.

    They may start again, on another machine.
    """

    verb: Literal["drain_node"] = "drain_node"
    members: NotEmpty[str]
    """Those that run on the machine."""

    grace: Duration | None = 30_000_000
    """Kill a member that has not exited after this time: the notice of a spot instance, 30s to 2min."""

    mid_batch: bool = False
    """Stop the batch after the current record."""

    restart_after: Duration | None = None
    """Counted from the exit of each process, with random names from the drain; left out: it does not come
    back."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer; drawn for each member."""

    names: Literal["ordinal", "random"] = "ordinal"
    """``ordinal``: each member comes back under its name, after its end (StatefulSet); ``random``: as
    ``<name>+``, with a new instance id, and it boots while the old process closes (Deployment)."""


class ZoneOutage(Timed):
    """Kill all brokers of a rack (``racks`` of the cluster) and all members with it as ``client.rack``.

    They start again when the outage ends; a broker serves when it can register.
    """

    verb: Literal["zone_outage"] = "zone_outage"
    rack: str
    lasting: PositiveDuration = Field(alias="for")


class SlowDisk(Timed):
    """Make a broker's disk slow for a time."""

    verb: Literal["slow_disk"] = "slow_disk"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    by: PositiveDuration
    """Additional time of each append on a leader and of each fetch on a follower."""

    lasting: PositiveDuration = Field(alias="for")


class FillDisk(Timed):
    """Make a broker's disk full for a time: appends fail, and it stops fetching as a follower.

    A real broker with a single log directory would end by itself: that is ``crash_broker``. With several,
    the directory stays offline until the broker restarts, and other replicas lead its partitions.
    """

    verb: Literal["fill_disk"] = "fill_disk"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


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
