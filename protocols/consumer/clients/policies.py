"""The policies of clients: the values of the fields of a :class:`~protocols.consumer.clients.ClientProfile`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from assignors.values import dataclass


class Runs(enum.Enum):
    """Where the client works on its group and its fetches."""

    IN_POLL = "in the application's poll"
    IN_BACKGROUND = "in the background"
    IN_LOOP = "in the event loop of the application"


class Covers(enum.Enum):
    """What an automatic commit covers."""

    RETURNED = "all records returned"
    STORED = "the offset store"
    EARLIER_POLLS = "the records of earlier polls"


class CommitClock(enum.Enum):
    """From when the interval of automatic commits counts."""

    ASSIGNMENT = "each assignment"
    CREATION = "creation, then each commit"
    TICKS = "creation, in fixed steps"
    """With an interval of 0 there are no steps."""


class RevokeCommit(enum.Enum):
    """What a cooperative rebalance commits; an eager one commits everything, in the same order."""

    BEFORE_JOINING = "before joining, everything"
    REMOVED = "behind the revoke listener, the partitions taken away"
    TWICE = "before joining and at the revocation, everything"


class InRebalance(enum.Enum):
    """What becomes of a commit of the application while the member joins."""

    REFUSED = "the client refuses it"
    SENT = "the coordinator decides"
    WAITS = "it waits until the member has joined"


class Repeats(enum.Enum):
    """Failed automatic commits that follow again after the back-off, not after the interval."""

    NONE = "none"
    RETRIABLE = "retriable errors"
    MEMBERSHIP_TOO = "retriable errors, and those of a member that has to join again"


class SessionEnd(enum.Enum):
    """What a client does when its own copy of the session expires."""

    LOOK_UP = "looks the coordinator up"
    DROP_OUT = "drops its membership and joins as a new member"
    NOTHING = "nothing"


class FirstHeartbeat(enum.Enum):
    """When a member sends the first heartbeat of a generation."""

    JOINED = "an interval after JoinGroup"
    SYNCED = "an interval after SyncGroup"
    ASSIGNED = "an interval after the assigned listener"
    OWN_CLOCK = "after SyncGroup, an interval after the heartbeat before it, if that has passed"


class NextJoin(enum.Enum):
    """What delays the next JoinGroup of a member, beside what it waits for."""

    NOTHING = "nothing"
    LOSS = "a back-off after the loss of the membership, from the end of the listener call on"
    FAILURE = "`retry.backoff.ms` after each JoinGroup or SyncGroup that failed"
    EACH_SECOND = "the JoinGroup before, by 1 s, or by 2 s if it failed; nothing after a revocation"


class PollsCheck(enum.Enum):
    """When a client looks whether the application still polls."""

    TURNS = "in each turn of its heartbeat thread"
    HEARTBEATS = "before each heartbeat"
    HALF_SECONDS = "each 500 ms from the latest assignment on"


class Unanswered(enum.Enum):
    """What becomes of a heartbeat that is due while the one before it is not answered."""

    SENT = "it is sent"
    LEFT_OUT = "it is left out; the next one is due after another interval"
    WAITS = "it waits for the answer, and so does the check of the session"


class LeaderMetadata(enum.Enum):
    """What the leader of a group does about its metadata before it assigns partitions."""

    UNKNOWN = "it waits for topics that it does not know"
    FRESH = "it requests them and waits for the response"
    BESIDE = "it requests them and assigns those partitions that it knows already"


class Amount(enum.Enum):
    """How many records a call of the application hands out."""

    SETTING = "max.poll.records"
    ONE = "one record"
    GIVEN = "as many as asked for"
    ALL = "all that have arrived"


class Asks(enum.Enum):
    """Which of the brokers that can be connected to is asked for the coordinator."""

    CONNECTED_FIRST = "a connected one, if possible without a request in flight"
    IDLE_FIRST = "one without a request in flight, if possible connected"
    CONNECTED = "a connected one, if there is one"
    ANY = "any"


class Busy(enum.Enum):
    """What may keep a client from sending heartbeats."""

    WORK = "work"
    """The application processes what poll returned."""

    LISTENER = "listener"
    """A call of the rebalance listener runs."""

    FETCH = "fetch"
    """Poll waits for a response."""


COMMIT: Final = "commit"
"""The commit policy of the application, among the values of a :class:`Contradiction`."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Values that a client refuses together."""

    values: Mapping[str, object]
    """By Kafka's names of settings; :data:`COMMIT`: the call that commits."""

    said: str
