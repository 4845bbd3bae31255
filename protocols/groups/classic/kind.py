"""The classic group type, as the shared parts of a coordinator ask about it."""

from __future__ import annotations

from typing import Final

from protocols.groups.classic import admin, commits, expiry, lifecycle
from protocols.groups.kinds import GroupKind
from protocols.groups.shard import Durable
from protocols.messages import OffsetFetchRequest
from protocols.messages.errors import ErrorCode


def _anyone_may_fetch(_: Durable, __: OffsetFetchRequest) -> ErrorCode | None:
    """Nobody's membership is looked at."""
    return None


CLASSIC: Final = GroupKind(
    commit=commits.commit,
    made_by_commit=commits.made_by_commit,
    fetch_error=_anyone_may_fetch,
    delete_error=admin.delete_error,
    deleted=admin.deleted,
    offset_delete_error=admin.offset_delete_error,
    reads=admin.reads,
    expires_from_ms=expiry.expires_from_ms,
    is_over=expiry.is_over,
    taken_over=lifecycle.taken_over,
    given_away=lifecycle.given_away,
)
"""Also for groups that do not exist, and those known by their offsets alone."""
