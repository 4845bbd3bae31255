"""Which OffsetCommits a classic group takes.

Source: ``ClassicGroup.validateOffsetCommit`` (spec classic-coordinator 3.5).
"""

from __future__ import annotations

from protocols.groups.classic.group import Group
from protocols.groups.classic.identity import who_commits
from protocols.groups.classic.shard import Shard, state_of
from protocols.groups.classic.states import OFFSET_COMMIT, Act
from protocols.groups.turn import Moment
from protocols.machine import Effect, SetTimer
from protocols.messages import OffsetCommitRequest
from protocols.messages.errors import ErrorCode


def commit(
    shard: Shard, request: OffsetCommitRequest, at: Moment
) -> ErrorCode | tuple[Effect, ...]:
    """Say why a commit is refused as a whole, or what it does beside storing offsets."""
    group = shard.groups.get(request.group_id)
    verdict = OFFSET_COMMIT[who_commits(group, request)][state_of(group)]
    if isinstance(verdict, Act):
        return _kept(group, request, at) if verdict is Act.STORE_AND_KEEP else ()
    assert verdict is not None
    return _spoken(verdict, request)


def made_by_commit(shard: Shard, group_id: str, at: Moment) -> Shard:
    """Make the group that a first commit brings into being."""
    return shard.with_group(group_id, Group(group_id, state_since_ms=at.now_ms))


def _spoken(error: ErrorCode, request: OffsetCommitRequest) -> ErrorCode:
    """Old clients do not know that a group can be missing."""
    old = error is ErrorCode.GROUP_ID_NOT_FOUND and request.version <= 8
    return ErrorCode.ILLEGAL_GENERATION if old else error


def _kept(group: Group | None, request: OffsetCommitRequest, at: Moment) -> tuple[Effect, ...]:
    """A member's commit is a sign of life, even if each of its partitions is refused."""
    assert group is not None
    member = group.members[request.member_id]
    return (SetTimer(member.timer, at.now_us + member.session_timeout_ms * 1000),)
