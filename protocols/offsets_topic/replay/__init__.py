"""The state of groups and offsets in an offsets log: the rules by which a load replays its records.

A :class:`Loaded` is the state after some records; :func:`replayed` and :func:`transaction_ended`
return a new one. Groups of all types are here, with the state in the log only; the other state of
a running coordinator (timers, parked requests, unfinished joins) is in the packages of the
protocols.

``groups`` has the values, ``members`` the rules of consumer, share and streams groups, ``offsets``
the rules of committed and pending offsets.

Sources: the ``replay`` methods of ``GroupMetadataManager`` and ``OffsetMetadataManager``,
``CoordinatorLoaderImpl``.
"""

from __future__ import annotations

from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.offsets_topic.replay.groups import (
    ClassicGroup,
    Group,
    GroupState,
    GroupType,
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
