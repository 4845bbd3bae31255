"""Poisoned records: the rules of a group that say which records take long or fail.

A record that several rules match belongs to the first of them. Shares and keys are drawn by
partition and offset, so every consumer that gets a record meets the same rule.
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.types import TopicPartition
from emulator.scenario.model import Group, Poison
from emulator.scenario.tables.handlers import KEYS
from emulator.world.draws import draw, stream_key
from protocols.consumer.fetch_buffer import Handed

Matches = Callable[[int], bool]


class Rule:
    """One entry of ``poison``."""

    __slots__ = ("_keys", "_matchers", "_seed", "number", "poison")

    def __init__(self, poison: Poison, number: int, seed: int, keys: int) -> None:
        self.poison = poison
        self.number = number
        """Its place in the group, from 1 on."""

        self._seed = seed
        self._keys = keys
        self._matchers: dict[TopicPartition, Matches] = {}

    def matches(self, tp: TopicPartition, offset: int) -> bool:
        """Return whether it concerns a record."""
        matcher = self._matchers.get(tp)
        if matcher is None:
            matcher = self._matchers[tp] = self._matcher(tp)
        return matcher(offset)

    def _matcher(self, tp: TopicPartition) -> Matches:
        poison = self.poison
        if poison.topic not in (None, tp.topic) or poison.partition not in (None, tp.partition):
            return lambda _: False
        if poison.every is not None:
            every = poison.every
            return lambda offset: (offset + 1) % every == 0
        if poison.share is not None:
            share, drawn = poison.share, stream_key(self._seed, f"poison {self.number}", str(tp))
            return lambda offset: draw(drawn, offset) < share
        if poison.key is not None:
            key, keys, numbers = poison.key, self._keys, stream_key(self._seed, "key", str(tp))
            return lambda offset: int(draw(numbers, offset) * keys) == key
        return lambda offset: offset == poison.offset

    def first_in(self, part: Handed) -> int | None:
        """Return the first of the given records that it concerns; None: there is none."""
        tp, offset = part.partition, self.poison.offset
        if offset is not None:
            here = part.first <= offset < part.next_offset and self.matches(tp, offset)
            return offset if here else None
        records = range(part.first, part.next_offset)
        return next((record for record in records if self.matches(tp, record)), None)


class Rules:
    """All entries of ``poison`` of a group."""

    __slots__ = ("rules",)

    def __init__(self, group: Group, seed: int) -> None:
        keys = KEYS if group.pool is None else group.pool.keys
        numbered = enumerate(group.poison, 1)
        self.rules = tuple(Rule(poison, number, seed, keys) for number, poison in numbered)

    def of(self, tp: TopicPartition, offset: int) -> Rule | None:
        """Return the rule of a record; None: it is not poisoned."""
        for rule in self.rules:
            if rule.matches(tp, offset):
                return rule
        return None

    def failing(self, tp: TopicPartition, offset: int) -> Rule | None:
        """Return the rule of a record whose processing fails; None: it does not fail."""
        rule = self.of(tp, offset)
        return None if rule is None or rule.poison.error is None else rule
