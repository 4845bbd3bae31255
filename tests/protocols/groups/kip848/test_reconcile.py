"""One member's steps towards its target, state by state."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map

from protocols.groups.kip848.group import CurrentAssignment, Group, MemberState
from protocols.groups.kip848.reconcile import Situation, reconciled
from protocols.groups.kip848.records import current_record
from protocols.groups.kip848.replay import replayed
from protocols.messages.errors import ErrorCode

from .driver import IDS, ConsumerGroupDriver, owned, topic

T, U = IDS["t"], IDS["u"]
A, B, C = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAEQ", "AAAAAAAAAAAAAAAAAAAAIQ"
"""Topic ids that share a slot of a hash table."""

STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState


def grants(*numbers: int, at: int = 5, of: str = T) -> dict[str, dict[int, int]]:
    return {of: dict.fromkeys(numbers, at)} if numbers else {}


def member(epoch: int, *numbers: int, state: MemberState = STABLE, revoking: Any = ()) -> Any:
    return CurrentAssignment(epoch, epoch - 1, state, grants(*numbers), grants(*revoking))


def given(target_epoch: int, *wanted: int, **more: Any) -> Situation:
    defaults: dict[str, Any] = {
        "target_epoch": target_epoch,
        "wanted": {T: wanted},
        "held": Map(),
        "owned": None,
        "subscribed": {T},
    }
    return Situation(**{**defaults, **more})


def held(*numbers: int, at: int = 4) -> Any:
    return Map({T: Map(dict.fromkeys(numbers, at))})


def test_nothing_but_the_epoch_moves():
    """A new target with the same partitions takes a member to its epoch at once."""
    after = reconciled(member(5, 0, 1), given(6, 0, 1))

    assert CurrentAssignment(6, 5, STABLE, grants(0, 1)) == after


def test_free_partitions_are_given_at_once():
    """They carry the epoch at which they were given; the others keep theirs."""
    after = reconciled(member(5, 0), given(6, 0, 1))

    assert CurrentAssignment(6, 5, STABLE, {T: {0: 5, 1: 6}}) == after


def test_a_member_gives_up_before_it_takes():
    """While it has to give something up it stays at its epoch and gets nothing, free or not."""
    after = reconciled(member(5, 0, 1), given(6, 0, 2))

    assert CurrentAssignment(5, 5, UNREVOKED, grants(0), grants(1)) == after


def test_partitions_owned_by_others_are_waited_for():
    """The epoch is that of the target all the same."""
    after = reconciled(member(5, 0), given(6, 0, 1, 2, held=held(1)))

    assert CurrentAssignment(6, 5, UNRELEASED, {T: {0: 5, 2: 6}}) == after


def test_a_request_that_shows_the_loss_needs_no_revocation():
    """Partitions that the member does not own any more are removed at once."""
    after = reconciled(member(5, 0, 1), given(6, 0, owned={T: frozenset({0})}))

    assert CurrentAssignment(6, 5, STABLE, grants(0)) == after


def test_saying_nothing_never_confirms():
    """Without a list of what it owns a member may still own everything."""
    waiting = member(5, 0, state=UNREVOKED, revoking=(1,))

    assert waiting is reconciled(waiting, given(6, 0))
    assert waiting is reconciled(waiting, given(9, owned={T: frozenset({1})}))


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        ((), CurrentAssignment(5, 5, UNREVOKED, {}, grants(0))),
        ((0, 1), CurrentAssignment(7, 5, STABLE, {T: {0: 5, 1: 7}})),
        ((0,), CurrentAssignment(7, 5, STABLE, grants(0))),
    ],
)
def test_after_the_confirmation_the_newest_target_counts(wanted, after):
    """It may add, revoke, or return a partition that was just revoked."""
    waiting = member(5, 0, state=UNREVOKED, revoking=(1,))

    assert after == reconciled(
        waiting, given(7, *wanted, held=held(0, 1, at=5), owned={T: frozenset({0})})
    )


def test_an_unread_topic_is_taken_away_without_a_new_target():
    """A member that stopped reading a topic gives it up in the same heartbeat."""
    after = reconciled(member(5, 0), given(5, 0, subscribed={U}, resubscribed=True))

    assert CurrentAssignment(5, 5, UNREVOKED, {}, grants(0)) == after


def test_pending_revocations_grow_while_it_waits():
    """Another topic that is no longer read is added to the pending revocations."""
    waiting = CurrentAssignment(5, 4, UNREVOKED, {U: {3: 5}}, grants(1))
    after = reconciled(waiting, given(5, 0, subscribed={T}, resubscribed=True))

    assert CurrentAssignment(5, 5, UNREVOKED, {}, {T: {1: 5}, U: {3: 5}}) == after


def test_an_unread_topic_without_owner_is_forgotten():
    """If the same request shows that it is gone, there is nothing to wait for."""
    after = reconciled(
        member(5, 0), given(5, 0, subscribed={U}, resubscribed=True, owned={T: frozenset()})
    )

    assert CurrentAssignment(5, 5, STABLE) == after


def test_a_member_that_reads_nothing_is_moved_even_from_nothing():
    """Its previous epoch becomes its epoch, as if everything had been taken away."""
    nothing = given(5, subscribed=set(), reads_nothing=True, resubscribed=True)
    after = reconciled(member(5), nothing)

    assert CurrentAssignment(5, 5, STABLE) == after


def test_a_target_of_an_unread_topic_counts_for_nothing():
    """So it is revoked, though the target still has it."""
    after = reconciled(member(5, 0), given(6, 0, subscribed={U}))

    assert CurrentAssignment(5, 5, UNREVOKED, {}, grants(0)) == after


def test_an_unknown_state_fences_unless_nothing_is_owned():
    """A later Kafka may have written it; who owns nothing goes on from the target epoch."""
    unknown = CurrentAssignment(5, 4, UNKNOWN)

    assert ErrorCode.FENCED_MEMBER_EPOCH is reconciled(unknown, given(6, 0))
    assert ErrorCode.FENCED_MEMBER_EPOCH is reconciled(
        unknown, given(6, 0, owned={T: frozenset({0})})
    )
    assert CurrentAssignment(6, 5, STABLE, grants(0, at=6)) == reconciled(
        unknown, given(6, 0, owned={})
    )


@pytest.mark.parametrize(
    ("before", "wanted", "order"),
    [
        ((4, 5), (1, 4, 5), [4, 5, 1]),
        ((0, 1), (0, 1, 4), [0, 4, 1]),
        ((2,), (2, 5), [5, 2]),
        ((3, 4), (3, 4), [4, 3]),
        ((), (0, 1, 2, 3), [0, 1, 2, 3]),
    ],
)
def test_partitions_stand_in_the_order_of_kafkas_tables(before, wanted, order):
    """The log of a real group shows them so."""
    after = reconciled(member(5, *before), given(6, *wanted))

    assert order == list(after.assigned[T])


def test_partitions_of_which_none_is_kept_stand_in_the_order_of_a_new_table():
    """The table is not as long as that of the thirteen partitions before."""
    after = reconciled(member(5, *range(13)), given(6, 17, 33, owned={}))

    assert [17, 33] == list(after.assigned[T])


@pytest.mark.parametrize(
    ("assigned", "wanted", "order"),
    [
        ([], [A, B], [B, A]),
        ([A], [A, B], [B, A]),
        ([B, A], [B, A, C], [C, B, A]),
        ([B, A], [A, B, C], [C, A, B]),
    ],
)
def test_topics_of_one_slot_stand_with_the_new_ones_in_front(assigned, wanted, order):
    """Kafka puts kept topics behind each other, and new ones at the head (``computeIfAbsent``)."""
    current = CurrentAssignment(5, 4, STABLE, {topic_id: {0: 5} for topic_id in assigned})
    target = dict.fromkeys(wanted, (0,))

    after = reconciled(current, given(6, wanted=target, subscribed=set(wanted)))

    assert order == list(after.assigned)


@pytest.mark.parametrize(
    ("revoking", "unread", "order"),
    [([A], [B, C], [C, B, A]), ([], [A, B], [B, A]), ([A, B], [C], [C, A, B])],
)
def test_unread_topics_stand_before_those_that_are_revoked_already(revoking, unread, order):
    """Kafka merges them one after the other at the head of their slot."""
    numbers = {0: 5}
    assigned = {**dict.fromkeys(unread, numbers), T: numbers}
    current = CurrentAssignment(5, 4, UNREVOKED, assigned, dict.fromkeys(revoking, numbers))

    after = reconciled(current, given(5, resubscribed=True))

    assert (order, [T]) == (list(after.revoking), list(after.assigned))


def test_the_partitions_of_an_unread_topic_are_sorted_in_among_those_to_revoke():
    """As the table of numbers has them, not behind each other."""
    current = CurrentAssignment(5, 4, UNREVOKED, {U: {0: 5, 1: 5}}, {U: {2: 4}})

    after = reconciled(current, given(5, resubscribed=True))

    assert [(0, 5), (1, 5), (2, 4)] == list(after.revoking[U].items())


# -- through a coordinator ---------------------------------------------------------------------


def test_successive_joins_make_one_wave_of_revocations():
    """A donor that beats only after two joins gives up for both of them at once."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B")
    it.join("C")

    answer = it.beat("A")

    assert 2 == answer.epoch
    assert {"t": it.target("A")} == answer.assignment
    assert 4 == len(it.revoking("A"))


def test_a_partition_that_returns_while_it_is_revoked_is_kept():
    """Its pending entry does not block its own member."""
    it = ConsumerGroupDriver(topic(partitions=2))
    it.join("A")
    it.join("B")
    moving = it.target("B")
    assert moving == (it.beat("A"), it.revoking("A"))[1]
    it.leave("B")

    it.join("C", "u")
    kept = it.beat("A", topic_partitions=owned(*({0, 1} - moving)))

    assert {"t": {0, 1}} == kept.assignment


def test_a_member_in_an_unknown_state_must_list_no_topic():
    """Not even one without partitions."""
    nothing = reconciled(member(5, state=UNKNOWN), given(6, 0, owned={T: frozenset()}))

    assert ErrorCode.FENCED_MEMBER_EPOCH == nothing


def test_a_member_that_subscribes_to_a_missing_topic_is_unchanged():
    """It has a subscription, but no partitions."""
    before = member(5)

    assert before == reconciled(before, given(5, subscribed=set(), resubscribed=True))


def test_a_current_assignment_is_in_the_order_of_hash_maps():
    """Whatever the order in its record, which a later one copies."""
    epochs = {IDS["t"]: {5: 1, 1: 2}, IDS["u"]: {0: 1}}
    current = CurrentAssignment(2, 1, MemberState.STABLE, epochs)

    group = replayed(Group("g"), [current_record("g", "A", current)])

    assigned = group.members.entries["A"].current.assigned
    assert [(IDS["u"], [(0, 1)]), (IDS["t"], [(1, 2), (5, 1)])] == [
        (topic_id, list(numbers.items())) for topic_id, numbers in assigned.items()
    ]
