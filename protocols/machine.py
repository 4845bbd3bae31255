"""The result of a protocol machine: a new state, and effects for its host to carry out.

Every machine has the methods ``handle`` and ``wake``; a coordinator also ``durable`` and ``rejected``, a
client ``poll``, ``commit_sync``, ``commit_async``, ``called`` and ``close``. Each returns a :class:`Step`.
The host carries out the effects in order and has no rules.
Times are integer microseconds since the run began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from assignors.values import dataclass

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from protocols.facts import Fact
    from protocols.messages import Header, Message
    from protocols.offsets_topic.records import Record


@dataclass(frozen=True, slots=True)
class Append:
    """Write one atomic batch to the log; the host later calls ``durable`` or ``rejected``."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message: a request to a node, or a response to a request's header."""

    to: int | Header
    """Client: the node id (see ``messages.coordinator_node``). Coordinator: the request's header."""

    message: Message
    correlation_id: int = 0
    """Client requests only: the response carries it, too."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection to a node; what is sent next opens another (clients only)."""

    node: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Wake the machine with ``name`` at ``deadline_us``; replaces an earlier deadline of it."""

    name: str
    deadline_us: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Cancel the timer ``name``, if it is set."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """Run the application's rebalance listener, then call ``called`` (clients only)."""

    listener: str
    """``revoked``, ``assigned`` or ``lost``."""

    partitions: tuple[TopicPartition, ...]
    """Sorted by (topic, partition); may be empty."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """Do what a call of the rebalance listener entails, as the application has none (clients only)."""

    listener: str
    """``revoked``, ``assigned`` or ``lost``."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """End the application's blocking call (clients only)."""

    value: object
    """``Records`` for poll, ``CommitResult`` for commitSync, ``Closed`` for close."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report a fact, as a log line of the machine would; it changes no state."""

    fact: Fact


Effect = Append | Send | Close | SetTimer | CancelTimer | Call | Unheard | Return | Report

S = TypeVar("S")
T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """The result of a machine: the new state, and the effects in order."""

    state: S
    effects: tuple[Effect, ...] = ()

    def then(self, move: Callable[[S], Step[T]]) -> Step[T]:
        """Return this step followed by *move*, whose effects come after the effects of this step."""
        step = move(self.state)
        if not self.effects:
            return step
        return Step(step.state, self.effects + step.effects)

    def also(self, *effects: Effect) -> Step[S]:
        """Return the same step with more effects at its end."""
        return Step(self.state, self.effects + effects)


def in_turn(
    moves: Iterable[Callable[[S, C, int], Step[S]]], state: S, context: C, now: int
) -> Step[S]:
    """Return the step of all *moves*, each from the state in which the one before has ended."""
    effects: tuple[Effect, ...] = ()
    for move in moves:
        step = move(state, context, now)
        state = step.state
        if step.effects:
            effects += step.effects
    return Step(state, effects)
