"""Acts on members: deploys and their parts, and changes of subscriptions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from emulator.scenario.distributions import Distribution, Duration, PositiveDuration, always
from emulator.scenario.faults import Timed
from emulator.scenario.kafka_settings import ConsumerTable
from emulator.scenario.part import NotEmpty


def _kind_of_order(value: object) -> str:
    return "=word" if isinstance(value, str) else "=names"


Order = Annotated[
    Annotated[Literal["listed", "reversed", "random"], Tag("=word")]
    | Annotated[tuple[str, ...], Tag("=names")],
    Discriminator(_kind_of_order),
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


class RollingRestart(Timed):
    """Close and start the members of a group one by one."""

    verb: Literal["rolling_restart"] = "rolling_restart"
    group: str
    order: Order = "listed"
    """As listed, reversed, random (by the seed), or by name."""

    max_unavailable: int = Field(1, ge=1)
    """Members that are restarted at the same time."""

    gap: Duration = 0
    """From a member's start to the next one's close."""

    down_time: Duration = 0
    """From a member's end to its start."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer; drawn for each member."""

    pre_stop: Duration = 0
    """From the decision to stop a member to its SIGTERM; it works on, and ``grace`` includes this time."""

    surge: bool = False
    """Start a replacement, called ``<name>+``, before the old one closes."""

    names: Literal["ordinal", "random"] = "ordinal"
    """``ordinal``: a successor has the name and the instance id of its predecessor (StatefulSet);
    ``random``: a new name, ``<name>+``, and with it a new instance id (Deployment)."""

    stand_in: bool = False
    """While a static member is down, a spare process, ``<name>*``, runs with its instance id."""

    readiness: Literal["started", "assigned"] = "started"
    """When a started member is ready: when its consumer runs, or when it owns a partition. The next
    member is stopped after that; with ``surge``, the old one too."""

    ready_after: Duration = 0
    """From the start of its consumer to the first readiness probe."""

    probe_every: PositiveDuration = 10_000_000
    """From a probe that fails to the next one."""

    deadline: PositiveDuration = 600_000_000
    """Give the deploy up if a member is not ready so long after its start."""

    canary: int = Field(0, ge=0)
    """Restart so many members first, and the others only if these are ready after ``canary_for``."""

    canary_for: Duration = 60_000_000
    roll_back: bool = False
    """If the canaries are not ready, start them again with their earlier settings."""

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
    """Counted from the exit of each process; left out: it does not come back."""

    start_up: Distribution = always(0)
    """From the start of its process to its first call of the consumer; drawn for each member."""


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
