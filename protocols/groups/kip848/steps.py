"""The steps after a member's request, for members of either protocol.

In Kafka's order: raise the group epoch if the member's metadata or the topics changed (1); compute
a new target if one is due (2); reconcile this member by one step towards its target (3).

Source: ``GroupMetadataManager.consumerGroupHeartbeat``, ``classicGroupJoinToConsumerGroup`` of
4.4.0.
"""

from __future__ import annotations

from assignors.values import dataclass
from protocols.facts import GroupEpochRaised, MemberMoved, TargetComputed
from protocols.groups.kip848 import patterns
from protocols.groups.kip848.group import (
    NO_METADATA,
    Counts,
    CurrentAssignment,
    Group,
    Member,
    MemberState,
    assignor_after,
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
from protocols.groups.kip848.target import is_due, members_in_order, with_target
from protocols.groups.shard import Moment
from protocols.machine import CancelTimer, Effect, Report, SetTimer
from protocols.messages import TopicPartitions
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records.consumer import ConsumerGroupTargetAssignmentMemberKey
from protocols.values import replace


@dataclass(frozen=True, slots=True)
class HeartbeatContext:
    """A member's request while it is processed."""

    draft: Draft
    soft: Soft
    member_id: str
    before: Member | None
    """The member before the request; None: a new member."""

    effects: tuple[Effect, ...] = ()
    counted: Counts = Counts()
    """The subscriptions by which the group counts as homogeneous or not."""

    @property
    def group(self) -> Group:
        """Return the group after the steps so far."""
        return self.draft.group

    @property
    def member(self) -> Member:
        """Return the member after the steps so far."""
        return self.draft.group.members.entries[self.member_id]

    def with_effects(self, *effects: Effect) -> HeartbeatContext:
        """Return the context with more effects appended."""
        return replace(self, effects=self.effects + effects)


def advanced(
    group: Group, context: HeartbeatContext, owned: tuple[TopicPartitions, ...] | None, at: Moment
) -> HeartbeatContext | ErrorCode:
    """Take all steps after a member's request; *group* is the group before it.

    Raises TargetAssignmentError if the assignor fails.
    """
    context, resubscribed = _epoch_raised(group, context, at)
    return _moved(_retargeted(group, context, at), owned, resubscribed, at)


def carried_over(
    group: Group, context: HeartbeatContext, owned: tuple[TopicPartitions, ...] | None, at: Moment
) -> HeartbeatContext | ErrorCode:
    """Take the steps for the last member of a group that is about to become classic.

    No target is computed; if the target is behind, the member is not reconciled either, because a
    rebalance follows.
    """
    context, resubscribed = _epoch_raised(group, context, at)
    if context.group.epoch > context.group.target_epoch:
        return context
    return _moved(context, owned, resubscribed, at)


# -- 1: the group epoch ------------------------------------------------------------------------


def _epoch_raised(
    before: Group, context: HeartbeatContext, at: Moment
) -> tuple[HeartbeatContext, bool]:
    """Raise the epoch, at most once, if any input of the assignment changed.

    Also return whether the member's own subscription changed.
    """
    old = NO_METADATA if context.before is None else context.before.metadata
    renamed = old.subscribed_topic_names != context.member.metadata.subscribed_topic_names
    context, pattern = _pattern_changed(before, context, old.subscribed_topic_regex)
    context = _look_up(before, context, at)
    reason = _reason(before, context, at, renamed=renamed, pattern=pattern)
    context = replace(context, counted=before.counted)
    if reason is not None or is_stale(before, context.soft):
        context = _topics_compared(context, reason, at)
    return context, renamed or pattern is not patterns.Change.NONE


def _pattern_changed(
    before: Group, context: HeartbeatContext, old: str | None
) -> tuple[HeartbeatContext, patterns.Change]:
    """Remove the matches of the member's *old* pattern if it has another one and was its last user."""
    pattern = patterns.change(before, old, context.member.metadata.subscribed_topic_regex)
    if pattern is patterns.Change.NONE:
        return context, pattern
    gone = patterns.forgotten(before, [old])
    return replace(context, draft=context.draft.with_records(gone)), pattern


def _topics_compared(context: HeartbeatContext, reason: str | None, at: Moment) -> HeartbeatContext:
    """Compare the topics with the metadata; raise the epoch if they differ, or for *reason*."""
    group = context.group
    topics_hash = at.broker.image.hash_of(subscribed_topics(group))
    if reason is None and topics_hash != group.metadata_hash:
        reason = "subscribed topics changed"
    epoch = group.epoch if reason is None else group.epoch + 1
    soft = replace(context.soft, checked_epoch=epoch)
    context = replace(context, soft=soft, counted=group.counts())
    if reason is not None:
        fact = GroupEpochRaised(
            group=group.group_id, epoch=epoch, member_id=context.member_id, reason=reason
        )
        draft = context.draft.with_record(epoch_record(group.group_id, epoch, topics_hash))
        context = replace(context, draft=draft).with_effects(Report(fact))
    if group.holds_topic_metadata:
        tombstone = topic_metadata_tombstone(group.group_id)
        context = replace(context, draft=context.draft.with_record(tombstone))
    return context


def _look_up(before: Group, context: HeartbeatContext, at: Moment) -> HeartbeatContext:
    if not patterns.look_up_is_due(before, context.group.pattern_users, context.soft, at):
        return context
    old = None if context.before is None else context.before.metadata.subscribed_topic_regex
    new = context.member.metadata.subscribed_topic_regex
    turn = patterns.look_up_begun(before, old, new, context.soft, at)
    return replace(context, soft=turn.state).with_effects(*turn.effects)


def _reason(
    before: Group, context: HeartbeatContext, at: Moment, *, renamed: bool, pattern: patterns.Change
) -> str | None:
    """Return the reason why the member itself raises the epoch, or None."""
    if renamed:
        return "a member joined" if context.before is None else "a member reads other topics"
    if pattern is patterns.Change.KNOWN:
        return "a member reads by another pattern"
    if context.member.uses_classic:
        return None
    old = preferred_assignor(before.votes, at.settings.group_consumer_assignors[0])
    new = _assignor(before, context, at)
    return None if old == new else f"the assignor is {new} instead of {old}"


def _assignor(before: Group, context: HeartbeatContext, at: Moment) -> str:
    """Return the name of the assignor that the members prefer after the member's request."""
    old = None if context.before is None else context.before.metadata.server_assignor
    new = context.member.metadata.server_assignor
    return assignor_after(before.votes, old, new, at.settings.group_consumer_assignors[0])


# -- 2: the target -----------------------------------------------------------------------------


def _retargeted(before: Group, context: HeartbeatContext, at: Moment) -> HeartbeatContext:
    if not is_due(context.group, at):
        return context
    is_new = context.before is None or context.before.member_id != context.member_id
    new_member = context.member_id if is_new else None
    assignor = _assignor(before, context, at)
    draft = _without_copy_of_none(before, context)
    draft = with_target(draft, assignor, context.counted, new_member, at)
    changed = {
        key.member_id
        for key, _ in draft.records[len(context.draft.records) :]
        if isinstance(key, ConsumerGroupTargetAssignmentMemberKey)
    }
    computed = TargetComputed(
        group=draft.group.group_id,
        epoch=draft.group.epoch,
        assignor=assignor,
        changed=tuple(
            (member.member_id, named(draft.group.targets[member.member_id], at.broker.image))
            for member in members_in_order(context.group, new_member)
            if member.member_id in changed
        ),
    )
    return replace(context, draft=draft).with_effects(Report(computed))


def _without_copy_of_none(before: Group, context: HeartbeatContext) -> Draft:
    """Return the draft without the empty target of a member that replaces one without a target.

    Kafka compares the new target with those before the request, and writes it again.
    """
    old, draft = context.before, context.draft
    if old is None or old.member_id == context.member_id or old.member_id in before.targets:
        return draft
    targets = draft.group.targets.delete(context.member_id)
    return replace(draft, group=replace(draft.group, targets=targets))


# -- 3: this member ----------------------------------------------------------------------------


def _moved(
    context: HeartbeatContext,
    owned: tuple[TopicPartitions, ...] | None,
    resubscribed: bool,
    at: Moment,
) -> HeartbeatContext | ErrorCode:
    """Reconcile the member by one step; on a change, update its rebalance timer."""
    group, member = context.group, context.member
    current = member.current
    is_there = current.state is MemberState.STABLE and current.epoch == group.target_epoch
    if is_there and not resubscribed:
        return context
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
        return context
    draft = context.draft.with_record(current_record(group.group_id, member.member_id, step))
    return _report_move(_timed(replace(context, draft=draft), step, at), step, at)


def _report_move(
    context: HeartbeatContext, step: CurrentAssignment, at: Moment
) -> HeartbeatContext:
    moved = MemberMoved(
        group=context.group.group_id,
        member_id=context.member_id,
        epoch=step.epoch,
        previous_epoch=step.previous_epoch,
        state=step.state.name,
        assigned=named(step.assigned, at.broker.image),
        revoking=named(step.revoking, at.broker.image),
    )
    return context.with_effects(Report(moved))


def _timed(context: HeartbeatContext, step: CurrentAssignment, at: Moment) -> HeartbeatContext:
    """Set or cancel a member's rebalance timer; a classic member has a rejoin timer instead."""
    member, soft = context.member, context.soft
    if member.uses_classic:
        return context
    timer = rebalance_timer(context.group.group_id, member.member_id)
    if step.state is MemberState.UNREVOKED_PARTITIONS:
        soft = replace(soft, revoking=soft.revoking.set(member.member_id, step.epoch))
        set_timer = SetTimer(timer, at.after(member.metadata.rebalance_timeout_ms))
        return replace(context, soft=soft).with_effects(set_timer)
    if member.member_id in soft.revoking:
        soft = replace(soft, revoking=soft.revoking.delete(member.member_id))
    return replace(context, soft=soft).with_effects(CancelTimer(timer))
