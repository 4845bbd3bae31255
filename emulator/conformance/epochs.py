"""How a group of the consumer protocol came from one epoch to the next, as its coordinator saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator.events import Event, GroupEpochRaised, MemberMoved, MemberRemoved, TargetComputed

Step = tuple[str, tuple[str, ...]]
"""A member's epoch and state, and what it has; what it is to give up stands behind a minus."""


@dataclass(slots=True, kw_only=True)
class Epochs:
    """Watches one group; see every event in order."""

    name: Callable[[str], str]
    """What a consumer is called."""

    shown: Callable[[TopicPartition], str]
    raised: list[int] = field(default_factory=list)
    """The group's epochs, in order."""

    targets: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """By epoch and consumer: what it shall have. Epochs that no target was computed for lack."""

    steps: dict[str, list[Step]] = field(default_factory=dict)
    """By consumer: its steps towards them."""

    _target: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Take in one event."""
        match event.what:
            case GroupEpochRaised(epoch=epoch):
                self.raised.append(epoch)
            case TargetComputed(epoch=epoch, changed=changed):
                self._target |= {self.name(who): self._names(given) for who, given in changed}
                self.targets[epoch] = {who: given for who, given in self._target.items() if given}
            case MemberRemoved(consumer=consumer):
                self._target.pop(self.name(consumer), None)
            case MemberMoved(epoch=epoch) as moved if epoch >= 0:
                self._move(moved)
            case _:
                pass

    def _move(self, moved: MemberMoved) -> None:
        """Write a step down; one that changes nothing but the epoch before it is none."""
        going = tuple(f"-{each}" for each in self._names(moved.revoking))
        step = (f"{moved.epoch} {moved.state}", self._names(moved.assigned) + going)
        steps = self.steps.setdefault(self.name(moved.consumer), [])
        if steps[-1:] != [step]:
            steps.append(step)

    def _names(self, partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
        return tuple(self.shown(partition) for partition in sorted(partitions))
