"""What may differ where the first of several equal periods begins: committed offsets, and unwritten records.

The last commit before it may have been at another distance than later ones. Nothing that members do
depends on that: it shows in the first event about the progress of each partition, in samples, and until
the partition is committed again. From the second period on it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assignors.types import TopicPartition
from emulator.events import Event, LagSampled, Processed
from emulator.world.consumer.epoch import Unwritten
from emulator.world.periods.state import State
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record
from protocols.values import replace


def repeated_events(before: State, after: State, events: list[Event]) -> list[Event] | None:
    """Return the events of a period as they are when it comes again; None: that is not known.

    *events*: those between *before*, where it began, and *after*, where it begins again.
    """
    changes = dict(_changed(before, after))
    if not changes:
        return events
    found = []
    for event in events:
        what = event.what
        if type(what) is Processed and (what.consumer, what.partition) in changes:
            again = _begun_again(what, before, *changes.pop((what.consumer, what.partition)))
            if again is None:
                return None
            found.append(event._replace(what=again))
        else:
            found.append(event)
    return None if changes else found


def _changed(
    before: State, after: State
) -> Iterator[tuple[tuple[str, TopicPartition], tuple[Unwritten, Unwritten]]]:
    """Yield consumer and partition where the unwritten records differ, and both.

    Two states that are the same have unwritten records of the same partitions.
    """
    for consumer, partitions in after.unwritten.items():
        for tp, new in partitions.items():
            old = before.unwritten[consumer][tp]
            if new != old:
                yield (consumer, tp), (old, new)


def _begun_again(
    what: Processed, before: State, old: Unwritten, new: Unwritten
) -> Processed | None:
    """Return the first event of a partition as if *new* had been unwritten, and not *old*; None: it is not that event."""
    position = before.positions[what.group][what.partition]
    if (what.first, what.began_us) != (position + old.first, before.at_us + old.began_us):
        return None
    first = position + new.first
    if first >= what.next_offset:
        return None
    return replace(what, first=first, began_us=before.at_us + new.began_us)


def commits_repeat(
    before: State, after: State, events: Iterable[Event], appended: Iterable[Record]
) -> bool:
    """Return whether every committed offset has moved as its position did, or moves so from now on.

    *appended*: the commits between the two states, which differ in nothing that decides what happens.
    """
    others = _moved_otherwise(before, after)
    if others is None:
        return False
    if not others:
        return True
    if any(type(event.what) is LagSampled for event in events):
        return False
    last = {}
    for key, value in appended:
        if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
            last[key.group, TopicPartition(key.topic, key.partition)] = value.offset
    return others.items() <= last.items()


def _moved_otherwise(before: State, after: State) -> dict[tuple[str, TopicPartition], int] | None:
    """Return the committed offsets that are new or have not moved as the positions did; None: some are gone."""
    found = {}
    for group, positions in after.positions.items():
        old, new = before.committed[group], after.committed[group]
        if not old.keys() <= new.keys():
            return None
        for tp, offset in new.items():
            more = positions.get(tp, 0) - before.positions[group].get(tp, 0)
            if tp not in old or offset != old[tp] + more:
                found[group, tp] = offset
    return found
