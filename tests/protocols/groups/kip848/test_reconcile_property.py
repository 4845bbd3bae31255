"""One step of a member, compared with the rules written as sets of partitions.

The rules here are those of the page, word by word: kept, revoked, wanted, blocked and added
partitions, and the first row that applies. No order, no topics apart, no shortcuts.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from immutables import Map

from protocols.groups.kip848.group import CurrentAssignment, MemberState
from protocols.groups.kip848.reconcile import Situation, reconciled

from .driver import IDS

TOPICS = [IDS["t"], IDS["u"]]
PARTITIONS = [(topic, number) for topic in TOPICS for number in range(4)]
SETS = st.sets(st.sampled_from(PARTITIONS))

Set = set[tuple[str, int]]


def grouped(partitions: Any) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return by_topic


def grants(partitions: Set, epoch: int) -> dict[str, dict[int, int]]:
    return {topic: dict.fromkeys(numbers, epoch) for topic, numbers in grouped(partitions).items()}


def flat(granted: Any) -> Set:
    return {(topic, number) for topic, numbers in granted.items() for number in numbers}


def by_the_rules(
    state: MemberState,
    target_epoch: int,
    assigned: Set,
    pending: Set,
    target: Set,
    others: Set,
    owned: Set | None,
) -> tuple[Any, ...]:
    """Return epoch, previous epoch (None: untouched), state, assigned and pending.

    The member is at epoch 5.
    """
    epoch = 5

    def owns_any(partitions: Set) -> bool:
        return bool(partitions) if owned is not None and owned & partitions else owned is None

    same = (epoch, None, state, assigned, pending)
    if state is MemberState.STABLE and epoch == target_epoch:
        return same
    if state is MemberState.UNREVOKED_PARTITIONS and owns_any(pending):
        return same
    keep = assigned & target
    revoke = assigned - keep
    wanted = target - keep
    held = others | assigned | pending
    blocked = {one for one in wanted if one in held and one not in pending}
    add = wanted - blocked
    if revoke and owns_any(revoke):
        return (epoch, epoch, MemberState.UNREVOKED_PARTITIONS, keep, revoke)
    after = MemberState.UNRELEASED_PARTITIONS if blocked else MemberState.STABLE
    return (target_epoch, epoch, after, keep | add, set())


@given(
    state=st.sampled_from(list(MemberState)[:3]),
    behind=st.integers(0, 2),
    assigned=SETS,
    pending=SETS,
    target=SETS,
    others=SETS,
    owned=st.none() | SETS,
)
@settings(max_examples=300)
def test_a_step_is_what_the_rules_say(state, behind, assigned, pending, target, others, owned):
    """Whatever a member has, shall have, and says."""
    revoking = state is MemberState.UNREVOKED_PARTITIONS
    pending = pending - assigned if revoking else set()
    others = others - assigned - pending
    current = CurrentAssignment(5, 4, state, grants(assigned, 3), grants(pending, 3))
    held = {
        topic: Map(dict.fromkeys(numbers, 5))
        for topic, numbers in grouped(others | assigned | pending).items()
    }
    step = reconciled(
        current,
        Situation(
            target_epoch=5 + behind,
            wanted={topic: tuple(numbers) for topic, numbers in grouped(target).items()},
            held=Map(held),
            owned=None
            if owned is None
            else {topic: frozenset(numbers) for topic, numbers in grouped(owned).items()},
            subscribed=TOPICS,
        ),
    )

    epoch, previous, after, has, gives_up = by_the_rules(
        state, 5 + behind, assigned, pending, target, others, owned
    )
    assert (epoch, after) == (step.epoch, step.state)
    assert (previous or 4) == step.previous_epoch
    assert (has, gives_up) == (flat(step.assigned), flat(step.revoking))
    new = {
        number: given
        for topic, numbers in step.assigned.items()
        for number, given in numbers.items()
        if (topic, number) not in assigned
    }
    assert all(given == 5 + behind for given in new.values())
