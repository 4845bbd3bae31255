"""Whether a member may commit or fetch offsets, by its member epoch (spec kip848 4.1).

Source: ``ConsumerGroup.validateOffsetCommit``, ``validateOffsetFetch`` of 4.4.0 (KIP-1251).
"""

from __future__ import annotations

from protocols.groups.commits import is_too_long
from protocols.groups.kip848.group import Group, Member
from protocols.groups.turn import Moment
from protocols.messages import OffsetCommitRequest, OffsetFetchRequest
from protocols.messages.errors import ErrorCode

_FIRST_WITH_EPOCHS = 9
"""The OffsetCommit version that speaks of member epochs."""


def commit_error(group: Group, request: OffsetCommitRequest, at: Moment) -> ErrorCode | None:
    """Return why a commit is refused as a whole, or None.

    At the member's epoch any partition may be committed. At an older one each partition must
    have been the member's by then, and still be: one that is not fails the whole request, unless
    that one is refused for itself.
    """
    epoch = request.generation_id
    if epoch < 0 and not group.members:
        return None
    member = group.member(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.version < _FIRST_WITH_EPOCHS and not member.speaks_classic:
        return ErrorCode.UNSUPPORTED_VERSION
    stale = _stale(member)
    if epoch == member.current.epoch:
        return None
    if epoch > member.current.epoch:
        return stale
    image = at.broker.image
    fits = all(
        _had_by(member, image.id_of(entry.partition.topic), entry.partition.partition, epoch)
        for entry in request.offsets
        if not is_too_long(entry, at)
    )
    return None if fits else stale


def fetch_error(group: Group, request: OffsetFetchRequest) -> ErrorCode | None:
    """Return why a fetch is refused, or None; who names no member may always fetch."""
    if request.member_id is None and request.member_epoch < 0:
        return None
    member = group.member(request.member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return None if request.member_epoch == member.current.epoch else _stale(member)


def _stale(member: Member) -> ErrorCode:
    if member.speaks_classic:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH


def _had_by(member: Member, topic: str | None, number: int, epoch: int) -> bool:
    """Say whether a partition is the member's, and was already at an epoch."""
    if topic is None:
        return False
    for grants in (member.current.assigned, member.current.revoking):
        given = grants.get(topic, {}).get(number)
        if given is not None:
            return given <= epoch
    return False
