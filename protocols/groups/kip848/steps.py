"""What a member's request sets in motion, whichever protocol it speaks.

In Kafka's order: does what the member says of itself, or a change of the topics, make a new group
epoch (1); is a new target due (2); one step of this member towards its target (3).

Source: ``GroupMetadataManager.consumerGroupHeartbeat``, ``classicGroupJoinToConsumerGroup`` of
4.4.0 (spec kip848 1.4, 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from protocols.facts import GroupEpochRaised, MemberMoved, TargetComputed
from protocols.groups.kip848 import patterns
from protocols.groups.kip848.group import (
    NOTHING_TOLD,
    CurrentAssignment,
    Group,
    Member,
    MemberState,
    by_topic,
    named,
    preferred_assignor,
    subscribed_topics,
    topics_of,
)
from protocols.groups.kip848.reconcile import Situation, reconciled
from protocols.groups.kip848.records import (
    Draft,
    current_record,
    epoch_record,
    topic_metadata_tombstone,
)
from protocols.groups.kip848.soft import Soft, is_stale, rebalance_timer
from protocols.groups.kip848.target import assignor_of, is_due, targeted
from protocols.groups.shard import Moment
from protocols.machine import CancelTimer, Effect, SetTimer, Tell
from protocols.messages import TopicPartitions
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import ConsumerGroupTargetAssignmentMemberKey


@dataclass(frozen=True, slots=True)
class Visit:
    """A member's request while it is worked on."""

    draft: Draft
    soft: Soft
    member_id: str
    before: Member | None
    """The member before; None: it is new here."""

    effects: tuple[Effect, ...] = ()

    @property
    def group(self) -> Group:
        """The group as it is by now."""
        return self.draft.group

    @property
    def member(self) -> Member:
        """The member as it is by now."""
        return self.draft.group.members.entries[self.member_id]

    def told(self, *effects: Effect) -> Visit:
        """Return the same with more effects at their end."""
        return replace(self, effects=self.effects + effects)


def advanced(
    group: Group, visit: Visit, owned: tuple[TopicPartitions, ...] | None, at: Moment
) -> Visit | ErrorCode:
    """Do all that follows from what a member said; *group* is as it was before."""
    visit, resubscribed = _epoch_raised(group, visit, at)
    aimed = _aimed(visit, at)
    if isinstance(aimed, ErrorCode):
        return aimed
    return _moved(aimed, owned, resubscribed, at)


def carried_over(
    group: Group, visit: Visit, owned: tuple[TopicPartitions, ...] | None, at: Moment
) -> Visit | ErrorCode:
    """Do the same for the last member of a group that will be classic at once.

    No target is computed any more; if it is behind, the member takes no step either, as a
    rebalance follows.
    """
    visit, resubscribed = _epoch_raised(group, visit, at)
    if visit.group.epoch > visit.group.target_epoch:
        return visit
    return _moved(visit, owned, resubscribed, at)


# -- 1: the group epoch ------------------------------------------------------------------------


def _epoch_raised(before: Group, visit: Visit, at: Moment) -> tuple[Visit, bool]:
    """Raise the epoch if anything changed that an assignment depends on; at most once.

    Return also whether the member's own subscription changed.
    """
    old = NOTHING_TOLD if visit.before is None else visit.before.metadata
    new = visit.member.metadata
    renamed = old.subscribed_topic_names != new.subscribed_topic_names
    pattern = patterns.change(before, old.subscribed_topic_regex, new.subscribed_topic_regex)
    if pattern is not patterns.Change.NONE:
        gone = patterns.forgotten(before, [old.subscribed_topic_regex])
        visit = replace(visit, draft=visit.draft.with_records(gone))
    visit = _look_up(before, visit, at)
    reason = _reason(before, visit, at, renamed=renamed, pattern=pattern)
    resubscribed = renamed or pattern is not patterns.Change.NONE
    if reason is None and not is_stale(before, visit.soft):
        return visit, resubscribed
    group = visit.group
    topics_hash = at.broker.image.hash_of(subscribed_topics(group))
    if reason is None and topics_hash != group.metadata_hash:
        reason = "subscribed topics changed"
    epoch = group.epoch if reason is None else group.epoch + 1
    visit = replace(visit, soft=replace(visit.soft, checked_epoch=epoch))
    if reason is not None:
        raised = epoch_record(group.group_id, epoch, topics_hash)
        visit = replace(visit, draft=visit.draft.with_record(raised)).told(
            Tell(
                GroupEpochRaised(
                    group=group.group_id, epoch=epoch, member_id=visit.member_id, reason=reason
                )
            )
        )
    if group.holds_topic_metadata:
        tombstone = topic_metadata_tombstone(group.group_id)
        visit = replace(visit, draft=visit.draft.with_record(tombstone))
    return visit, resubscribed


def _look_up(before: Group, visit: Visit, at: Moment) -> Visit:
    if not patterns.look_up_is_due(before, visit.group.pattern_users, visit.soft, at):
        return visit
    turn = patterns.look_up_begun(visit.group, visit.soft, at)
    return replace(visit, soft=turn.state).told(*turn.effects)


def _reason(
    before: Group, visit: Visit, at: Moment, *, renamed: bool, pattern: patterns.Change
) -> str | None:
    """Return why the member itself raises the epoch, if it does."""
    if renamed:
        return "a member joined" if visit.before is None else "a member reads other topics"
    if pattern is patterns.Change.KNOWN:
        return "a member reads by another pattern"
    if visit.member.speaks_classic:
        return None
    default = at.settings.group_consumer_assignors[0]
    votes = before.votes, visit.group.votes
    old, new = (preferred_assignor(each, default) for each in votes)
    return None if old == new else f"the assignor is {new} instead of {old}"


# -- 2: the target -----------------------------------------------------------------------------


def _aimed(visit: Visit, at: Moment) -> Visit | ErrorCode:
    if not is_due(visit.group, at):
        return visit
    is_new = visit.before is None or visit.before.member_id != visit.member_id
    draft = targeted(visit.draft, visit.member_id if is_new else None, at)
    if isinstance(draft, ErrorCode):
        return draft
    computed = TargetComputed(
        group=draft.group.group_id,
        epoch=draft.group.epoch,
        assignor=assignor_of(draft.group, at),
        changed=tuple(
            (key.member_id, named(draft.group.targets[key.member_id], at.broker.image))
            for key, _ in draft.records[len(visit.draft.records) :]
            if isinstance(key, ConsumerGroupTargetAssignmentMemberKey)
        ),
    )
    return replace(visit, draft=draft).told(Tell(computed))


# -- 3: this member ----------------------------------------------------------------------------


def _moved(
    visit: Visit, owned: tuple[TopicPartitions, ...] | None, resubscribed: bool, at: Moment
) -> Visit | ErrorCode:
    """Let the member take a step; where that changes it, its rebalance timer follows."""
    group, member = visit.group, visit.member
    current = member.current
    is_there = current.state is MemberState.STABLE and current.epoch == group.target_epoch
    if is_there and not resubscribed:
        return visit
    names = topics_of(group, member)
    topics = (at.broker.image.id_of(name) for name in names)
    step = reconciled(
        current,
        Situation(
            target_epoch=group.target_epoch,
            wanted=group.targets.get(member.member_id, {}),
            held=group.held,
            owned=None if owned is None else by_topic(owned),
            subscribed=frozenset(topic for topic in topics if topic is not None),
            reads_nothing=not names,
            resubscribed=resubscribed,
        ),
    )
    if isinstance(step, ErrorCode):
        return step
    if step == current:
        return visit
    draft = visit.draft.with_record(current_record(group.group_id, member.member_id, step))
    return _told(_timed(replace(visit, draft=draft), step, at), step, at)


def _told(visit: Visit, step: CurrentAssignment, at: Moment) -> Visit:
    moved = MemberMoved(
        group=visit.group.group_id,
        member_id=visit.member_id,
        epoch=step.epoch,
        previous_epoch=step.previous_epoch,
        state=step.state.name,
        assigned=named(step.assigned, at.broker.image),
        revoking=named(step.revoking, at.broker.image),
    )
    return visit.told(Tell(moved))


def _timed(visit: Visit, step: CurrentAssignment, at: Moment) -> Visit:
    """Set or end a member's time to give partitions up; a classic one has its time to rejoin."""
    member, soft = visit.member, visit.soft
    if member.speaks_classic:
        return visit
    timer = rebalance_timer(visit.group.group_id, member.member_id)
    if step.state is MemberState.UNREVOKED_PARTITIONS:
        soft = replace(soft, revoking=soft.revoking.set(member.member_id, step.epoch))
        set_timer = SetTimer(timer, at.after(member.metadata.rebalance_timeout_ms))
        return replace(visit, soft=soft).told(set_timer)
    if member.member_id in soft.revoking:
        soft = replace(soft, revoking=soft.revoking.delete(member.member_id))
    return replace(visit, soft=soft).told(CancelTimer(timer))
