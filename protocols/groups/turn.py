"""What a group's handlers are given, and what they say: a moment on a broker, and a turn.

A handler takes a value (a group, or all that one coordinator has) and returns a :class:`Turn`:
the value after it, effects to carry out at once, records to propose, and what waits until
they are durable. It knows no other group and no log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from assignors.registry import SERVER_SIDE, find_server_assignor
from assignors.types import Assignment, Subscriptions, Topics
from protocols.groups.topics import TopicsImage
from protocols.machine import Effect
from protocols.messages import TopicDescription
from protocols.offsets_topic.records import Record
from protocols.settings.consumer import BrokerSettings
from protocols.settings.group import GroupOverrides, GroupTimes, times_in_force

S = TypeVar("S")
T = TypeVar("T")

ServerAssignor = Callable[[Topics, Subscriptions], Assignment]
"""Who gets what in a group of the consumer protocol (``ConsumerGroupPartitionAssignor``)."""

TopicsByName = Mapping[str, TopicDescription] | None
"""The topics that a broker knows; None: every topic exists."""

_NO_IMAGE = TopicsImage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What a coordinator knows of the broker it is on."""

    settings: BrokerSettings
    epoch_ms: int
    """The wall clock when the run began."""

    new_id: Callable[[str], str]
    """Makes a member id from its prefix."""

    topics: TopicsByName = None

    times: GroupTimes
    """In force in groups that nothing was set for."""

    image: TopicsImage = _NO_IMAGE
    """The same topics; empty where every topic exists."""

    overrides: Mapping[str, GroupOverrides] = field(default_factory=lambda: MappingProxyType({}))
    """What was set for single groups."""

    assignors: Mapping[str, ServerAssignor] = field(default_factory=lambda: SERVER_SIDE)
    """The coordinator's assignors by name."""

    def __post_init__(self) -> None:
        """Refuse assignors that nobody knows; raises AssignorNotFoundError, ValueError for none."""
        offered = self.settings.group_consumer_assignors
        if not offered or len(set(offered)) < len(offered):
            raise ValueError(
                f"group.consumer.assignors is {list(offered)!r}; it needs at least one name, "
                f"none of them twice. There are: {', '.join(self.assignors)}."
            )
        for name in offered:
            if name not in self.assignors:
                find_server_assignor(name)

    def times_of(self, group_id: str) -> GroupTimes:
        """Return the times in force in a group of the consumer protocol."""
        if group_id not in self.overrides:
            return self.times
        return times_in_force(self.settings, self.overrides[group_id])


class Moment(NamedTuple):
    """When, and on which broker."""

    now_us: int
    broker: Broker

    @property
    def now_ms(self) -> int:
        """The broker's wall clock, epoch ms."""
        return self.broker.epoch_ms + self.now_us // 1000

    @property
    def settings(self) -> BrokerSettings:
        """The broker's configuration."""
        return self.broker.settings

    def after(self, milliseconds: int) -> int:
        """Return the time so many milliseconds from now, in microseconds.

        A negative time, which a request may name, is over at once.
        """
        return self.now_us + (milliseconds * 1000 if milliseconds > 0 else 0)


class Retry(NamedTuple):
    """What a timer decided is tried again, a little later, if it cannot be written."""

    group_id: str
    timer: str


Waiting = Any
"""What a turn leaves until everything proposed so far is durable.

A ``Send`` is a reply, a ``Tell`` is a fact that holds from then on, a :class:`Retry` belongs to
a timer; anything else is a classic group's own.
"""


@dataclass(frozen=True, slots=True)
class Turn(Generic[S]):
    """What a handler decided."""

    state: S
    effects: tuple[Effect, ...] = ()
    """To be carried out at once."""

    records: tuple[Record, ...] = ()
    """To be proposed as one atomic batch."""

    waits: tuple[Waiting, ...] = ()

    def then(self, move: Callable[[S], Turn[T]]) -> Turn[T]:
        """Make one more move from here; what it wants comes after what we want."""
        turn = move(self.state)
        return Turn(
            turn.state,
            self.effects + turn.effects,
            self.records + turn.records,
            self.waits + turn.waits,
        )

    def also(self, *effects: Effect) -> Turn[S]:
        """Return the same turn with more effects at its end."""
        return Turn(self.state, self.effects + effects, self.records, self.waits)

    def at_last(self, *waits: Waiting) -> Turn[S]:
        """Return the same turn with more that waits for its records."""
        return Turn(self.state, self.effects, self.records, self.waits + waits)
