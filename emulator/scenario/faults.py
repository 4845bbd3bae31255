"""Faults: crashes, pauses, cut connections, and single messages; and the times of faults and acts.

A fault or act begins at a time, at random in a window, or at a step of the protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.distributions import Duration, PositiveDuration
from emulator.scenario.part import Part
from emulator.scenario.problems import listed


class Step(Part):
    """A member reaches a step of the protocol."""

    member: str
    step: short_forms.StepName
    nth: int = Field(1, ge=1)
    """Only the n-th time."""

    after: Duration = 0
    """Count only steps from this time on."""


class After(Part):
    """A moment relative to another fault or act."""

    fault: str
    """Its id."""

    phase: Literal["begins", "ends"] = "ends"


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
    between: tuple[Duration, Duration] | None = None
    """At random in this window."""

    when: Moment | None = None
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

    A real broker with a single log directory would end by itself: that is ``crash_broker``.
    """

    verb: Literal["fill_disk"] = "fill_disk"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


class Poison(Part):
    """Records that take long to process, or that fail: one record, or all that a rule matches."""

    topic: str | None = None
    """Left out: every topic of the group."""

    partition: int | None = Field(None, ge=0)
    """Left out: every partition."""

    offset: int | None = Field(None, ge=0)
    """One record; needs ``topic`` and ``partition``."""

    every: int | None = Field(None, ge=1)
    """Instead of ``offset``: each n-th record of a partition."""

    share: float | None = Field(None, gt=0, le=1)
    """Instead of ``offset``: this fraction of the records, drawn by partition and offset."""

    key: int | None = Field(None, ge=0)
    """Instead of ``offset``: the records with the key of this number; see ``keys`` of the handler."""

    work: Duration | None = None
    """Duration of one attempt to process it."""

    error: Literal["retry", "seek", "pause", "forward", "skip", "stop"] | None = None
    """Its processing fails. ``retry``: wait and try again in the handler; ``seek``: commit what is
    finished, seek back to the record, wait, poll again; ``pause``: the same, but poll with paused
    partitions meanwhile; ``forward``: send it to another topic; skip it, or exit the process."""

    attempts: int = Field(1, ge=1)
    """With ``retry``, ``seek`` and ``pause``: the number of failures before ``then``."""

    then: Literal["succeed", "forward", "skip", "stop"] = "succeed"
    """After so many failures: the next attempt succeeds, or the record is sent to another topic, skipped,
    or the process exits."""

    backoff: Duration = 1_000_000
    """The wait after the first failure."""

    multiplier: float = Field(1.0, ge=1)
    """Each further wait is so many times the one before."""

    max_backoff: PositiveDuration | None = None
    """The longest wait; left out: no limit."""

    to: str | None = None
    """With ``forward``: the topic; left out: ``<topic>-dlt``. If the scenario has it, the record is
    appended to the partition with the same number, for a group that retries there."""

    delay: Duration = 0
    """With ``forward``: the time until it can be read there."""

    @model_validator(mode="after")
    def _is_poison(self) -> Self:
        if self.work is None and self.error is None:
            raise ValueError('has neither "work" (its duration) nor "error" (its failure)')
        rules = [n for n in ("offset", "every", "share", "key") if getattr(self, n) is not None]
        if len(rules) != 1:
            given = " and ".join(f'"{name}"' for name in rules) or "none of them"
            raise ValueError(
                f'needs one of "offset", "every", "share" and "key" to say which records; has {given}'
            )
        if self.offset is not None and (self.topic is None or self.partition is None):
            raise ValueError('"offset" needs "topic" and "partition"')
        self._check_reaction()
        return self

    def _check_reaction(self) -> None:
        if self.then != "succeed" and not self.tries_again:
            raise ValueError('"then" needs error = "retry", "seek" or "pause"')
        if (self.to is not None or self.delay) and not self.forwards:
            raise ValueError('"to" and "delay" need error = "forward" or then = "forward"')

    @property
    def tries_again(self) -> bool:
        """Whether a failed record is processed again before the consumer does something else."""
        return self.error in ("retry", "seek", "pause")

    @property
    def forwards(self) -> bool:
        """Whether records may be sent to another topic."""
        return "forward" in (self.error, self.then)

    @property
    def seeks(self) -> bool:
        """Whether the consumer seeks back to a failed record."""
        return self.error in ("seek", "pause")

    def target(self, topic: str) -> str:
        """Return the topic to which a record of *topic* is forwarded."""
        return self.to or f"{topic}-dlt"

    def work_us(self, usual_us: int) -> int:
        """Return the time from the first attempt to the end of the last one in the handler."""
        return self._tries_us(usual_us, self.error == "retry")

    def _tries_us(self, usual_us: int, is_repeated: bool) -> int:
        """Return the time of all attempts and the waits between them, or of one attempt."""
        once = usual_us if self.work is None else self.work
        if not is_repeated:
            return once
        tries = self.attempts + (self.then == "succeed")
        return once * tries + sum(self.wait_us(failures) for failures in range(1, tries))

    def mean_extra_us(self, usual_us: float, keys: int) -> float:
        """Return what this rule adds to the mean time of the records that it looks at, in microseconds.

        *usual_us*: the time of any other record; *keys*: the number of keys of a partition. One record
        adds nothing to the mean.
        """
        by_rule = (self.every and 1 / self.every, self.share, self.key is not None and 1 / keys)
        share = next(filter(None, by_rule), 0.0)
        return share * (self._tries_us(int(usual_us), self.tries_again) - usual_us)

    def wait_us(self, failures: int) -> int:
        """Return the wait after so many failures, in microseconds."""
        longest = float("inf") if self.max_backoff is None else self.max_backoff
        exponent = min(failures - 1, 64)
        return int(min(self.backoff * self.multiplier**exponent, longest, 1 << 60))


KEYS: Final = 1_000
"""The number of keys of a partition, for a group without a pool of workers."""


def mean_extra_us(
    rules: Sequence[Poison], rates: Mapping[str, float], usual_us: float, keys: int
) -> float:
    """Return what slow and failing records add to the mean time of a record, in microseconds.

    *rates*: records per second by partition; *usual_us*: the time of any other record; *keys*: the
    number of keys of a partition. A rule for one record adds nothing to the mean.
    """
    extra = 0.0
    for rule in rules:
        mine = [
            rate
            for name, rate in rates.items()
            if rule.topic in (None, name.rpartition("-")[0])
            and rule.partition in (None, int(name.rpartition("-")[2]))
        ]
        extra += rule.mean_extra_us(usual_us, keys) * sum(mine)
    return extra / (sum(rates.values()) or 1.0)
