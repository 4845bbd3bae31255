"""Transitions between the states of a member, and how equal assignments are distinguished."""

from __future__ import annotations

import pytest

from protocols.consumer.kip848.member import (
    NO_ASSIGNMENT,
    NO_MEMBER,
    TRANSITIONS,
    LocalAssignment,
    MemberState,
    by_id,
)
from protocols.consumer.kip848.membership import on_heartbeat_success
from protocols.messages import ConsumerGroupHeartbeatResponse, TopicPartitions
from protocols.values import replace

from .bench import ClientBench


@pytest.mark.parametrize("before", MemberState)
@pytest.mark.parametrize("after", MemberState)
def test_only_the_transitions_of_the_table_are_allowed(before, after):
    """A member goes where the table says, and going elsewhere is a defect of ours."""
    member = NO_MEMBER._replace(state=before)
    if after in TRANSITIONS[before]:
        assert after is member.to(after).state
    else:
        with pytest.raises(AssertionError, match=f"no transition from {before.name}"):
            member.to(after)


def test_nothing_leads_out_of_a_fatal_error():
    """A member that died stays dead."""
    assert frozenset() == TRANSITIONS[MemberState.FATAL]


def test_every_state_but_the_fatal_one_can_become_fatal():
    """An error that no heartbeat mends may come whenever a heartbeat is sent."""
    alive = [state for state in MemberState if state.in_group]

    assert all(MemberState.FATAL in TRANSITIONS[state] for state in alive)


def test_the_first_empty_assignment_differs_from_none():
    """A new member reconciles an empty assignment."""
    assigned = NO_ASSIGNMENT.with_target(())

    assert LocalAssignment(0, ()) == assigned
    assert assigned != NO_ASSIGNMENT


def test_a_repeated_target_changes_nothing():
    """An assignment that equals the target keeps its count."""
    target = LocalAssignment(3, by_id([TopicPartitions("a", (1,))]))

    assert target is target.with_target(by_id([TopicPartitions("a", (1,))]))


def test_assignments_are_compared_in_one_form():
    """Order, repetition and empty topics of an answer make no difference."""
    assigned = [
        TopicPartitions("b", ()),
        TopicPartitions("a", (2, 1)),
        TopicPartitions("a", (1, 0)),
    ]

    assert (TopicPartitions("a", (0, 1, 2)),) == by_id(assigned)


@pytest.mark.parametrize(
    ("state", "answered", "epoch"),
    [
        (MemberState.STABLE, 6, 6),
        (MemberState.STABLE, 0, 0),
        (MemberState.STABLE, -1, 5),
        (MemberState.LEAVING, 6, 5),
        (MemberState.UNSUBSCRIBED, 6, 5),
    ],
)
def test_only_a_member_of_the_group_takes_the_epoch_of_a_response(state, answered, epoch):
    """Late answers find members that are leaving, or gone."""
    before = replace(ClientBench().client.state, member=NO_MEMBER._replace(state=state, epoch=5))
    response = ConsumerGroupHeartbeatResponse(member_epoch=answered)

    assert epoch == on_heartbeat_success(before, response).state.member.epoch
