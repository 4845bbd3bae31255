"""The verdict tables of a classic group: its response to each request, by sender and state.

A group has five states; a sixth column is for a group that does not exist. Each request has a
table: its rows are senders (:class:`Sender`), its columns states. A cell is the error of the
response or the :class:`Act` to perform. Handlers take their verdict from these tables only;
``docs/reference/classic-verdicts.md`` is generated from them; a test covers every cell.

State changes: JoinGroup, LeaveGroup and timers begin a join phase
(``rebalance.py``); its end begins the sync phase; the sync phase ends when the record of the
leader's assignment is durable (``sync.py``). Nothing else changes the state.

Source: the code of ``GroupMetadataManager`` and ``ClassicGroup`` of Kafka 4.4.0, not the comments
of ``ClassicGroupState``, which differ from it.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import Final

from protocols.messages.errors import ErrorCode

_NOT_AVAILABLE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE
_FENCED: Final = ErrorCode.FENCED_INSTANCE_ID
_ILLEGAL: Final = ErrorCode.ILLEGAL_GENERATION
_INCONSISTENT: Final = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
_IN_REBALANCE: Final = ErrorCode.REBALANCE_IN_PROGRESS
_NO_GROUP: Final = ErrorCode.GROUP_ID_NOT_FOUND
_NON_EMPTY: Final = ErrorCode.NON_EMPTY_GROUP
_SERVER_ERROR: Final = ErrorCode.UNKNOWN_SERVER_ERROR
_UNKNOWN: Final = ErrorCode.UNKNOWN_MEMBER_ID


class State(enum.IntEnum):
    """The states of a group; the number is the column in the verdict tables."""

    ABSENT = 0
    """No group has this id; never the state of a group."""

    EMPTY = 1
    """No members; may have offsets and pending member ids."""

    PREPARING_REBALANCE = 2
    """The join phase: the group collects JoinGroups."""

    COMPLETING_REBALANCE = 3
    """The sync phase: a new generation waits until the leader's assignment is durable."""

    STABLE = 4
    """The assignment is durable and sent to the members."""

    DEAD = 5
    """The shard has been unloaded."""

    @property
    def label(self) -> str:
        """Return Kafka's spelling, as in DescribeGroups and logs."""
        return "Absent" if self is State.ABSENT else self.name.title().replace("_", "")


PREDECESSORS: Final = MappingProxyType(
    {
        State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
        State.PREPARING_REBALANCE: frozenset(
            {State.STABLE, State.COMPLETING_REBALANCE, State.EMPTY}
        ),
        State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
        State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
        State.DEAD: frozenset(State) - {State.ABSENT},
    }
)
"""The states from which each state may be entered."""


class Request(enum.Enum):
    """The requests to a group, except those that only read it."""

    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    OFFSET_COMMIT = "OffsetCommit"
    OFFSET_DELETE = "OffsetDelete"
    DELETE_GROUPS = "DeleteGroups"


class Sender(enum.Enum):
    """The sender of a request, as the verdict tables distinguish it; the first match applies."""

    SURPLUS = "a member beyond `group.max.size`"
    UNSUPPORTED = "a member whose protocols the group does not support"
    NEWCOMER = "a dynamic member without an id"
    OLD_NEWCOMER = "a dynamic member without an id, JoinGroup v0-v3"
    NEW_INSTANCE = "a static member without an id, its instance not known"
    RESTARTED = "a static member without an id, its instance known"
    PENDING = "a pending member: it has an id and has not joined"
    PENDING_INSTANCE = "a pending member that names an instance id"
    INSTANCE = "a request that names a static member by its instance id only"
    FENCED = "a member whose instance id belongs to another member id"
    UNKNOWN = "a member whose member id or instance id is unknown"
    NONE = "a commit without a generation and a member"
    STALE = "a member with another generation"
    OTHER_PROTOCOL = "a member with another protocol than the group's"
    CHANGED = "a member with new metadata"
    LEADER = "the leader"
    MEMBER = "a member"
    OTHER_GROUP = "any client, to a group of another type than consumer"
    ANYONE = "any client"


class Act(enum.Enum):
    """The action of a group on a request that it does not reject."""

    HAND_OUT_ID = "MEMBER_ID_REQUIRED with a new id"
    ADMIT = "added and parked; a rebalance begins or continues"
    RETURN = "replaced under a new id; answered when stored, unless another protocol wins"
    RETURN_AND_REBALANCE = "replaced under a new id and parked; new rebalance"
    RETURN_AND_PARK = "replaced under a new id and parked"
    PARK = "parked until all have joined"
    REBALANCE = "parked; new rebalance"
    REPEAT = "current generation at once"
    EVICT = "GROUP_MAX_SIZE_REACHED, and out of the group"
    AWAIT_ASSIGNMENT = "parked until the leader's assignment is durable"
    STORE_ASSIGNMENT = "parked; assignment stored"
    GIVE_ASSIGNMENT = "assignment at once"
    KEEP = "NONE; session kept"
    WARN = "REBALANCE_IN_PROGRESS; session kept"
    REMOVE = "NONE; member removed, a rebalance begins or continues"
    FORGET = "NONE; id forgotten, a rebalance begins or continues where there are members"
    STORE_OFFSETS = "NONE; offsets stored"
    STORE_AND_KEEP = "NONE; offsets stored, session kept"
    DROP_OFFSETS = "by topic: NONE, or GROUP_SUBSCRIBED_TO_TOPIC"
    DELETE = "NONE; group and offsets deleted"


Verdict = ErrorCode | Act
Row = tuple[Verdict | None, Verdict | None, Verdict, Verdict, Verdict, Verdict]
"""Verdicts by :class:`State`; None where the combination is impossible."""

Alive = tuple[Verdict | None, Verdict | None, Verdict, Verdict, Verdict]
"""Verdicts by :class:`State`, without DEAD."""

Table = MappingProxyType[Sender, Row]


def _in_all(verdict: Verdict) -> Alive:
    """Return a row with the same verdict in every state but DEAD."""
    return verdict, verdict, verdict, verdict, verdict


def _table(rows: dict[Sender, Alive], *, dead: Verdict = _NOT_AVAILABLE) -> Table:
    """Return a table; *dead*: the verdict for all senders in DEAD."""
    return MappingProxyType({sender: (*row, dead) for sender, row in rows.items()})


JOIN_GROUP: Final[Table] = _table(
    {
        Sender.SURPLUS: (None, None, Act.EVICT, Act.EVICT, Act.EVICT),
        Sender.UNSUPPORTED: _in_all(_INCONSISTENT),
        Sender.NEWCOMER: _in_all(Act.HAND_OUT_ID),
        Sender.OLD_NEWCOMER: _in_all(Act.ADMIT),
        Sender.NEW_INSTANCE: _in_all(Act.ADMIT),
        Sender.RESTARTED: (
            None,
            _SERVER_ERROR,
            Act.RETURN_AND_PARK,
            Act.RETURN_AND_REBALANCE,
            Act.RETURN,
        ),
        Sender.PENDING: (_UNKNOWN, Act.ADMIT, Act.ADMIT, Act.ADMIT, Act.ADMIT),
        Sender.PENDING_INSTANCE: (
            _UNKNOWN,
            _SERVER_ERROR,
            _SERVER_ERROR,
            _SERVER_ERROR,
            _SERVER_ERROR,
        ),
        Sender.FENCED: (_UNKNOWN, _UNKNOWN, _FENCED, _FENCED, _FENCED),
        Sender.UNKNOWN: _in_all(_UNKNOWN),
        Sender.CHANGED: (_UNKNOWN, _UNKNOWN, Act.PARK, Act.REBALANCE, Act.REBALANCE),
        Sender.LEADER: (_UNKNOWN, _UNKNOWN, Act.PARK, Act.REPEAT, Act.REBALANCE),
        Sender.MEMBER: (_UNKNOWN, _UNKNOWN, Act.PARK, Act.REPEAT, Act.REPEAT),
    }
)

SYNC_GROUP: Final[Table] = _table(
    {
        Sender.FENCED: (_UNKNOWN, _UNKNOWN, _FENCED, _FENCED, _FENCED),
        Sender.UNKNOWN: _in_all(_UNKNOWN),
        Sender.STALE: (_UNKNOWN, _UNKNOWN, _ILLEGAL, _ILLEGAL, _ILLEGAL),
        Sender.OTHER_PROTOCOL: (_UNKNOWN, _UNKNOWN, _INCONSISTENT, _INCONSISTENT, _INCONSISTENT),
        Sender.LEADER: (
            _UNKNOWN,
            _UNKNOWN,
            _IN_REBALANCE,
            Act.STORE_ASSIGNMENT,
            Act.GIVE_ASSIGNMENT,
        ),
        Sender.MEMBER: (
            _UNKNOWN,
            _UNKNOWN,
            _IN_REBALANCE,
            Act.AWAIT_ASSIGNMENT,
            Act.GIVE_ASSIGNMENT,
        ),
    }
)

HEARTBEAT: Final[Table] = _table(
    {
        Sender.FENCED: (_UNKNOWN, _UNKNOWN, _FENCED, _FENCED, _FENCED),
        Sender.UNKNOWN: _in_all(_UNKNOWN),
        Sender.STALE: (_UNKNOWN, _UNKNOWN, _ILLEGAL, _ILLEGAL, _ILLEGAL),
        Sender.MEMBER: (_UNKNOWN, _UNKNOWN, Act.WARN, Act.KEEP, Act.KEEP),
    }
)

LEAVE_GROUP: Final[Table] = _table(
    {
        Sender.INSTANCE: (_UNKNOWN, _UNKNOWN, Act.REMOVE, Act.REMOVE, Act.REMOVE),
        Sender.PENDING: (_UNKNOWN, Act.FORGET, Act.FORGET, Act.FORGET, Act.FORGET),
        Sender.FENCED: (_UNKNOWN, _UNKNOWN, _FENCED, _FENCED, _FENCED),
        Sender.UNKNOWN: _in_all(_UNKNOWN),
        Sender.MEMBER: (_UNKNOWN, _UNKNOWN, Act.REMOVE, Act.REMOVE, Act.REMOVE),
    }
)
"""Verdicts for each entry of the request; in DEAD, for the request as a whole."""

OFFSET_COMMIT: Final[Table] = _table(
    {
        Sender.NONE: (Act.STORE_OFFSETS, Act.STORE_OFFSETS, _UNKNOWN, _UNKNOWN, _UNKNOWN),
        Sender.FENCED: (_NO_GROUP, _UNKNOWN, _FENCED, _FENCED, _FENCED),
        Sender.UNKNOWN: (_NO_GROUP, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN),
        Sender.STALE: (_NO_GROUP, _UNKNOWN, _ILLEGAL, _ILLEGAL, _ILLEGAL),
        Sender.MEMBER: (_NO_GROUP, _UNKNOWN, Act.STORE_AND_KEEP, _IN_REBALANCE, Act.STORE_AND_KEEP),
    }
)
"""Up to version 8, GROUP_ID_NOT_FOUND is answered as ILLEGAL_GENERATION."""

OFFSET_DELETE: Final[Table] = _table(
    {
        Sender.OTHER_GROUP: (_NO_GROUP, Act.DROP_OFFSETS, _NON_EMPTY, _NON_EMPTY, _NON_EMPTY),
        Sender.ANYONE: (
            _NO_GROUP,
            Act.DROP_OFFSETS,
            Act.DROP_OFFSETS,
            Act.DROP_OFFSETS,
            Act.DROP_OFFSETS,
        ),
    },
    dead=_NO_GROUP,
)

DELETE_GROUPS: Final[Table] = _table(
    {Sender.ANYONE: (_NO_GROUP, Act.DELETE, _NON_EMPTY, _NON_EMPTY, _NON_EMPTY)},
    dead=_NO_GROUP,
)

TABLES: Final = MappingProxyType(
    {
        Request.JOIN_GROUP: JOIN_GROUP,
        Request.SYNC_GROUP: SYNC_GROUP,
        Request.HEARTBEAT: HEARTBEAT,
        Request.LEAVE_GROUP: LEAVE_GROUP,
        Request.OFFSET_COMMIT: OFFSET_COMMIT,
        Request.OFFSET_DELETE: OFFSET_DELETE,
        Request.DELETE_GROUPS: DELETE_GROUPS,
    }
)
