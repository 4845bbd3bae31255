"""The facts about a run that verdicts need besides its ledger and its metrics.

They are the values of a :class:`emulator.verdicts.facts_meter.FactsMeter` at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from assignors.values import dataclass
from emulator import events as ev
from emulator.verdicts.group import Failure, Growth, Killed, Stalled, Stuck, Wait
from emulator.verdicts.interruptions import Interrupted
from emulator.verdicts.switching import Switched

LEFT_BY_ITSELF = (
    "consumer pro-actively leaving the group",
    "consumer poll timeout has expired.",
)
"""The Java client's messages when max.poll.interval.ms is exceeded, classic and KIP-848."""

POLL_TOO_LATE = "no poll() in time"

OF_POSITIONS = frozenset({"seek", "pause_partitions"})
"""Acts of a member on its own partitions, which take effect on some if they are refused for others."""


class Missed(NamedTuple):
    """A fault that did not fire, and why."""

    fault: str
    why: str
    needless: bool = False
    """Whether there was nothing to do: the process to start was running already."""


class StoppedDeploy(NamedTuple):
    """A rolling restart that stopped before its end, and why."""

    group: str
    why: str


class Lasting(NamedTuple):
    """A fault that had not ended."""

    fault: str
    verb: str
    target: str


class Repeated(NamedTuple):
    """A consumer, what happened to it, and how often."""

    consumer: str
    reason: str
    times: int


class OfDeleted(NamedTuple):
    """Commits of a consumer that named a deleted topic, were refused, and repeated for a time."""

    consumer: str
    topic: str
    error: str
    times: int
    lasted_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEnd:
    """One group at the end of a run."""

    group: str
    rebalancing_since_us: int | None = None
    """The start of the rebalance that had not ended; None: the group was stable or empty."""

    absent: tuple[str, ...] = ()
    """Consumers whose process had ended, but which the coordinator still had as members."""

    consumers: int = 0
    """Consumers that were started at least once."""

    running: int = 0
    """Consumers whose process ran at the end."""

    failures: tuple[Failure, ...] = ()
    """Processes that ended with an error, in order."""

    loops: tuple[Repeated, ...] = ()
    """Consumers that left the group or were removed while they ran, the most frequent first."""

    removed_in_close: tuple[Failure, ...] = ()
    """Consumers that the coordinator removed after a timeout while they closed."""

    killed: tuple[Killed, ...] = ()
    """Processes that were killed before they had left the group, in order of their removal."""

    by_heartbeat: frozenset[str] = frozenset()
    """Consumers whose last member had joined by ConsumerGroupHeartbeat: the consumer protocol."""

    removed_assigning: tuple[Failure, ...] = ()
    """Leaders that the coordinator removed while their assignor computed."""

    thrown: tuple[Repeated, ...] = ()
    """Calls of rebalance listeners that threw: ``assigned``, ``revoked`` or ``lost``."""

    of_deleted: tuple[OfDeleted, ...] = ()
    """For each consumer and deleted topic: the longest series of refused commits."""

    stuck: tuple[Stuck, ...] = ()
    stalled: tuple[Stalled, ...] = ()
    growth: Growth | None = None
    """How lag grew since the last fault began or ended; None: it did not."""

    waiting: int = 0
    """Records that were produced and not processed."""

    longest_wait: Wait | None = None
    """The longest wait of a rebalance for a member."""

    interrupted: Interrupted | None = None
    """The rebalances that changes of topics caused; None: there were none."""

    switched: Switched | None = None
    """What deploys changed in how it assigns; None: nothing."""


class FoundLate(NamedTuple):
    """A topic that was created or got partitions, and when its last one got an owner."""

    group: str
    topic: str
    after_us: int
    is_found: bool = True
    """False: it had no owner until the end, ``after_us`` later."""


class Skipped(NamedTuple):
    """How many offsets of a partition its first owner left unread, as it started at the end."""

    group: str
    topic: str
    offsets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The state at the end of a run, as far as it concerns verdicts."""

    ended_us: int
    groups: tuple[GroupEnd, ...] = ()
    missed: tuple[Missed, ...] = ()
    refused: tuple[Missed, ...] = ()
    """Acts of an administrator that were refused, in whole or in part."""

    lasting: tuple[Lasting, ...] = ()
    found: tuple[FoundLate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    stopped_deploys: tuple[StoppedDeploy, ...] = ()
    slow_records: tuple[str, ...] = ()
    """The records with work of their own that were begun, such as ``record 7 of orders-0``."""

    lag_unit: str = "record"
    """What lag counts: offsets, if some of them hold no record."""


# -- the settings that decide -------------------------------------------------------------------

LIMITS: Mapping[str, str] = {
    ev.Departure.EXPIRED: "session.timeout.ms",
    **dict.fromkeys(
        (
            POLL_TOO_LATE,
            ev.Departure.DID_NOT_REJOIN,
            ev.Departure.DID_NOT_SYNC,
            ev.Departure.DID_NOT_REVOKE,
        ),
        "max.poll.interval.ms",
    ),
}
"""The setting for each reason; the Java client sends the poll interval as the rebalance timeout."""

OF_BROKERS: Mapping[str, str] = {ev.Departure.EXPIRED: "group.consumer.session.timeout.ms"}
"""The same for members of the consumer protocol, where it is another one (KIP-848)."""


class Removed(Protocol):
    """A consumer that left its group or was removed, and why."""

    @property
    def consumer(self) -> str:
        """Its name."""

    @property
    def reason(self) -> str:
        """A ``Departure``, or why its client left."""


def with_limits(group: GroupEnd, removed: Iterable[Removed]) -> list[str]:
    """Return the different reasons of removals, each with the setting that decides, in order.

    For example ``session expired (session.timeout.ms)``.
    """
    return list(dict.fromkeys(_with_limit(group, each) for each in removed))


def session_settings(group: GroupEnd, consumers: Iterable[str]) -> list[str]:
    """Return the settings that end the sessions of some consumers."""
    return list(dict.fromkeys(_limit(group, each, ev.Departure.EXPIRED) for each in consumers))


def _with_limit(group: GroupEnd, removed: Removed) -> str:
    limit = _limit(group, removed.consumer, removed.reason)
    return f"{removed.reason} ({limit})" if limit else removed.reason


def _limit(group: GroupEnd, consumer: str, reason: str) -> str:
    """Return the setting that decides; empty: none does."""
    known = {**LIMITS, **OF_BROKERS} if consumer in group.by_heartbeat else LIMITS
    return known.get(reason, "")
