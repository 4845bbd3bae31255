"""What an offsets log says of its groups: the rules by which a load replays its records.

A :class:`Loaded` is what some records came to; :func:`replayed` and :func:`transaction_ended`
return a new one. The groups of all types are here, as the log alone makes them: what a running
coordinator knows beyond its log (timers, parked requests, joins not yet complete) is in the
packages of the protocols.

``groups`` has the values, ``members`` the rules of all groups that are written fact by fact
(consumer, share and streams), ``offsets`` those of committed and pending offsets.

Sources: the ``replay`` methods of ``GroupMetadataManager`` and ``OffsetMetadataManager``,
``CoordinatorLoaderImpl`` (spec records, sections 4, 9 and 10; classic-coordinator 5.3).
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
