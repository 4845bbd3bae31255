"""How a turn's records go to the log: as one atomic set, or each by itself.

What requests and most timers write is one set, which goes into one batch or fails. What cleans
up (offsets that expired, offsets of a deleted topic) may be more than a batch holds; it need
not stand together, so each of its records may go into another batch, and fail with that.

Source: ``CoordinatorResult.isAtomic``, ``CoordinatorRuntime`` (spec classic-coordinator 0.2b).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from protocols.coordinator.durability import Durability
from protocols.coordinator.replay import replayed
from protocols.groups.kinds import AnyShard
from protocols.groups.shard import Shard
from protocols.groups.turn import Turn
from protocols.machine import Append
from protocols.offsets_topic.records import Record


def proposed(
    log: Durability, earlier: AnyShard, turn: Turn[AnyShard], *, atomic: bool
) -> tuple[AnyShard, tuple[Append, ...]]:
    """Apply a turn's records as a load would; return the shard then, and what goes to the log."""
    sets = (turn.records,) if atomic else tuple((record,) for record in turn.records)
    durable, old, new = earlier.durable, earlier.groups, turn.state.groups
    named = {} if old is new else _named_last_in(sets)
    for number, records in enumerate(sets):
        before, durable = durable, replayed(durable, records)
        names = named.get(number, ())
        made = tuple(name for name in names if name in new and name not in old)
        ended = tuple((name, old[name]) for name in names if name in old and name not in new)
        log.propose(len(records), before, durable, made, ended)
    return Shard(new, durable, turn.state.soft), tuple(map(Append, sets))


def _named_last_in(sets: Sequence[tuple[Record, ...]]) -> Mapping[int, Sequence[str]]:
    """Return the groups that are named for the last time in each set: with it they come or go."""
    last: dict[str, int] = {}
    for number, records in enumerate(sets):
        for record in records:
            last[_group_of(record)] = number
    names = defaultdict[int, list[str]](list)
    for name, number in last.items():
        names[number].append(name)
    return names


def _group_of(record: Record) -> str:
    """Every key begins with its group."""
    group_id: Any = record.key[0]
    assert isinstance(group_id, str), "a record of a type that no coordinator writes"
    return group_id
