"""The state of groups and offsets in an offsets log, as ``rebalance log`` shows it.

A :class:`Loaded` is the state after some records; :func:`replayed` and :func:`transaction_ended`
return a new one. Groups of all types are here, with the state in the log only; the other state of
a running coordinator (timers, parked requests, unfinished joins) is in the packages of the
protocols.

The rules are in ``protocols/offsets_topic/group_rules.py``, which the coordinator shares;
``groups`` has the values, ``offsets`` the rules of committed and pending offsets.

Sources: the ``replay`` methods of ``GroupMetadataManager`` and ``OffsetMetadataManager``,
``CoordinatorLoaderImpl``.
"""

from __future__ import annotations

from protocols.offsets_topic.group_rules import ClassicGroup, GroupState, GroupType
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.offsets_topic.replay.groups import (
    Group,
    Member,
    MemberGroup,
    MemberState,
)
from protocols.offsets_topic.replay.loaded import Loaded, replayed, transaction_ended
from protocols.offsets_topic.replay.offsets import NO_PRODUCER_ID, OffsetsOfPartitions, StoredOffset

__all__ = [
    "NO_PRODUCER_ID",
    "BrokenLogError",
    "ClassicGroup",
    "Group",
    "GroupState",
    "GroupType",
    "Loaded",
    "Member",
    "MemberGroup",
    "MemberState",
    "OffsetsOfPartitions",
    "StoredOffset",
    "replayed",
    "transaction_ended",
]
