"""The parties of the tiny world, and what is remembered of them.

A party is brought from one state to the next by moves, and says what it sent. What it does
depends on nothing but its state and the move, so a state is made once and its moves are
remembered: that is what makes hundreds of thousands of interleavings affordable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Generic, NamedTuple, Self, TypeVar

from assignors.types import TopicPartition

from ..driver import IDS

TOPICS = {"t": 1, "u": 1}
ALL = sorted(TopicPartition(name, n) for name, count in TOPICS.items() for n in range(count))

P = TypeVar("P", bound="Party")


class Party:
    """A participant whose states can be copied and compared."""

    def copied(self) -> Self:
        raise NotImplementedError

    def likeness(self) -> Hashable:
        raise NotImplementedError

    def seen(self) -> Any:
        """Return the part that the laws check."""
        raise NotImplementedError

    def moved(self, move: Any) -> tuple[Any, ...]:
        """Make a move and return what was sent."""
        raise NotImplementedError


class Messages:
    """Everything that was ever sent, by number: equal messages are one."""

    def __init__(self) -> None:
        self._all: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def __getitem__(self, number: int) -> Any:
        return self._all[number]

    def numbered(self, messages: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of some messages."""
        return tuple(self._number(message) for message in messages)

    def _number(self, message: Any) -> int:
        number = self._numbers.setdefault(message, len(self._all))
        if number == len(self._all):
            self._all.append(message)
        return number


class Next(NamedTuple):
    """Where a move leads, and what is sent by it."""

    state: int
    sent: tuple[int, ...]


class States(Generic[P]):
    """All states of a party that were met, by number; 0 is the first."""

    def __init__(self, first: P, messages: Messages) -> None:
        self._messages = messages
        self._parties: list[P] = []
        self._known: dict[Hashable, int] = {}
        self._moves: dict[tuple[int, Hashable], Next] = {}
        self.seen: list[Any] = []
        self._number(first)

    def __len__(self) -> int:
        return len(self._parties)

    def after(self, state: int, move: Hashable) -> Next:
        """Return where a move leads from a state; messages in it go by number."""
        found = self._moves.get((state, move))
        if found is None:
            party = self._parties[state].copied()
            sent = party.moved(self._meant(move))
            after = Next(self._number(party), self._messages.numbered(sent))
            found = self._moves[state, move] = after
        return found

    def _meant(self, move: Any) -> Any:
        match move:
            case int():
                return self._messages[move]
            case (name, int() as number):
                return name, self._messages[number]
        return move

    def _number(self, party: P) -> int:
        likeness = party.likeness()
        number = self._known.setdefault(likeness, len(self._parties))
        if number == len(self._parties):
            self._parties.append(party)
            self.seen.append(party.seen())
        return number


def by_name(partitions: Iterable[tuple[str, Iterable[int]]]) -> frozenset[TopicPartition]:
    """Return partitions that are listed by topic id by their topic's name."""
    names = {topic_id: name for name, topic_id in IDS.items()}
    return frozenset(
        TopicPartition(names[topic_id], number)
        for topic_id, numbers in partitions
        for number in numbers
    )
