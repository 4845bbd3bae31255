"""What slows the work on a record down: the lag of its partition, and other records in work.

The state of the run is looked at when the work on a batch begins, with workers on each record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from emulator.scenario.tables.handlers import crowding

if TYPE_CHECKING:
    from emulator.scenario.tables.handlers import WorkBy


class Conditions:
    """The factor on the times of one member."""

    def __init__(self, given: WorkBy, group: str, member: str) -> None:
        self._given = given
        self._group = group
        self._member = member
        self._end_of: Callable[[TopicPartition], int] = lambda _: 0
        self._in_work: Callable[[str], Mapping[str, int]] = lambda _: {}
        self._crowd = 1.0
        """The factor for the other records in work."""

    def connect(
        self,
        end_of: Callable[[TopicPartition], int],
        in_work: Callable[[str], Mapping[str, int]],
    ) -> None:
        """Take the end of a partition, and the records that each member of a group has in work."""
        self._end_of = end_of
        self._in_work = in_work

    def look(self) -> None:
        """Count the records that the group has in work, the one that begins included."""
        if self._given.concurrency is not None:
            found = self._in_work(self._group)
            own = found.get(self._member, 0)
            self._crowd = crowding(self._given, sum(found.values()) - own + max(own, 1))

    def factor(self, tp: TopicPartition, offset: int) -> float:
        """Return the factor on the time of a record whose work begins."""
        return self._crowd * self._of_lag(tp, offset)

    def _of_lag(self, tp: TopicPartition, offset: int) -> float:
        if not self._given.lag:
            return 1.0
        behind = self._end_of(tp) - offset - 1
        return next((step.factor for step in reversed(self._given.lag) if behind > step.above), 1.0)
