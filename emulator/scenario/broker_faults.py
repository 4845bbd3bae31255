"""Faults of brokers (processes, disks, leadership), and administrative acts on offsets."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from emulator.scenario.distributions import Duration, PositiveDuration
from emulator.scenario.part import NotEmpty
from emulator.scenario.problems import listed
from emulator.scenario.timing import Timed


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


class StopBroker(Timed):
    """Shut a broker down (SIGTERM): its leaders move first, without waiting for its session.

    A controlled shutdown takes no time of its own.
    """

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


class MoveCoordinator(Timed):
    """Make another broker the leader of the offsets partition of a group."""

    verb: Literal["move_coordinator"] = "move_coordinator"
    group: str
    to: str | None = None
    """``broker-N`` with an in-sync replica; left out: the next broker with one."""


Partitions = tuple[Annotated[int, Field(ge=0)], ...]

TOOL_TIMEOUT_US = 5_000_000
"""The default ``--timeout`` of ``kafka-consumer-groups``."""

WAYS = ("to", "shift_by", "by_duration", "to_datetime")
"""The keys that say where offsets are reset to."""


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


def _kind_of_place(value: object) -> str:
    return "=word" if isinstance(value, str) else "=offset"


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

    to: (
        Annotated[
            Annotated[Literal["earliest", "latest"], Tag("=word")]
            | Annotated[int, Field(ge=0), Tag("=offset")],
            Discriminator(_kind_of_place),
        ]
        | None
    ) = None
    """The beginning, the end, or an offset."""

    shift_by: int | None = None
    """Number of records to move forward from the committed offset; below 0: backward."""

    by_duration: PositiveDuration | None = None
    """To the first record not older than this."""

    to_datetime: Duration | None = None
    """To the first record at or after this time of the run."""

    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """Timeout of each request of the tool."""

    @model_validator(mode="after")
    def _resets_once(self) -> Self:
        given = [way for way in WAYS if getattr(self, way) is not None]
        if len(given) != 1:
            found = f"both {listed(given[:2])}" if given else "no place"
            raise ValueError(f"{found}; say where to by exactly one of {listed(WAYS)}")
        if self.partitions and self.topic is None:
            raise ValueError('"partitions" without "topic"; say of which topic')
        return self


class DeleteGroup(Timed):
    """Delete a group with all its committed offsets (``kafka-consumer-groups --delete``).

    Refused while the group has members.
    """

    verb: Literal["delete_group"] = "delete_group"
    group: str
    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """Timeout of the request of the tool."""
