"""Faults and acts on brokers: their processes, their disks, what they lead."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from emulator.scenario.moments import Timed
from emulator.scenario.part import NotEmpty
from emulator.scenario.quantities import Duration, PositiveDuration


class CrashBroker(Timed):
    """Kill a broker's process."""

    verb: Literal["crash_broker"] = "crash_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None
    """It serves again when it may register: ``broker.session.timeout.ms`` after its death at the
    earliest, since the controller takes the dead process for alive until then."""


class PauseBroker(Timed):
    """Stop a broker's process for a while."""

    verb: Literal["pause_broker"] = "pause_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


class StopBroker(Timed):
    """Stop a broker in order (SIGTERM): what it leads moves first, and nobody waits for its session.

    A controlled shutdown takes no time of its own.
    """

    verb: Literal["stop_broker"] = "stop_broker"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    restart_after: Duration | None = None


def _kind_of_brokers(value: object) -> str:
    return "=word" if isinstance(value, str) else "=names"


class RollingBrokerRestart(Timed):
    """Stop and start brokers one after the other."""

    verb: Literal["rolling_broker_restart"] = "rolling_broker_restart"
    brokers: Annotated[
        Annotated[Literal["brokers"], Tag("=word")] | Annotated[NotEmpty[str], Tag("=names")],
        Discriminator(_kind_of_brokers),
    ]
    """``brokers`` for all of them, or a list of ``broker-N`` in the order wanted."""

    gap: Duration = 0
    """From a broker's start to the next one's stop."""

    down_time: Duration = 0
    """From a broker's stop to its start."""

    clean: bool = True
    """Let each hand over what it leads before it stops; else kill it, and it is not back before
    its session has run out."""


class SlowDisk(Timed):
    """Let a broker's disk be slow for a while."""

    verb: Literal["slow_disk"] = "slow_disk"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    by: PositiveDuration
    """So much longer takes each append on a leader, and each fetch on a follower."""

    lasting: PositiveDuration = Field(alias="for")


class FillDisk(Timed):
    """Let a broker's disk be full for a while: appends fail, and its followers stop fetching.

    A real broker with a single log directory would end by itself: that is ``crash_broker``.
    """

    verb: Literal["fill_disk"] = "fill_disk"
    broker: str
    """``broker-N`` or ``coordinator of GROUP``."""

    lasting: PositiveDuration = Field(alias="for")


class MoveCoordinator(Timed):
    """Let another broker lead the offsets partition of a group."""

    verb: Literal["move_coordinator"] = "move_coordinator"
    group: str
    to: str | None = None
    """``broker-N`` with a copy in sync; left out: the next one that has."""
