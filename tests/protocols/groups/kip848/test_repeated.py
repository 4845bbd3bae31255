"""Requests that arrive twice, and joins of members that the group knows, in each member state."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.messages.errors import ErrorCode

from .driver import ConsumerGroupDriver, owned


def stable() -> ConsumerGroupDriver:
    """A has everything, at (2, 0)."""
    it = ConsumerGroupDriver()
    it.join("A")
    return it


def unrevoked() -> ConsumerGroupDriver:
    """B has joined, and A has been asked for its half: A is at (2, 2)."""
    it = stable()
    it.join("B")
    it.beat("A")
    return it


def full(it: ConsumerGroupDriver, member_id: str, *numbers: int) -> Any:
    """Send a full request at the member's epoch; it owns *numbers*."""
    return it.beat(
        member_id,
        rebalance_timeout_ms=300_000,
        subscribed_topic_names=("t",),
        topic_partitions=owned(*numbers),
    )


@pytest.mark.parametrize(
    ("made", "member_id", "has", "state"),
    [
        (stable, "A", range(6), "STABLE"),
        (unrevoked, "A", range(6), "UNREVOKED_PARTITIONS"),
        (unrevoked, "B", (), "UNRELEASED_PARTITIONS"),
    ],
)
def test_a_repeated_full_request_is_answered_alike_and_writes_nothing(made, member_id, has, state):
    """It has the assignment, whatever the member still waits for."""
    it = made()
    first = full(it, member_id, *has)
    second = []

    assert [] == it.wrote(lambda: second.append(full(it, member_id, *has)))
    assert first.answer == second[0].answer
    assert {"t": it.assigned(member_id)} == first.assignment or not it.assigned(member_id)
    assert state == it.at(member_id)[2]


def test_a_repeated_confirmation_is_answered_alike_and_writes_nothing():
    """The first moves the member to its target; the second, at the old epoch, finds it there."""
    it = unrevoked()
    epoch, kept = it.at("A")[0], sorted(it.assigned("A"))
    everything = {
        "rebalance_timeout_ms": 300_000,
        "subscribed_topic_names": ("t",),
        "topic_partitions": owned(*kept),
    }
    first = it.beat("A", epoch, **everything)
    second = []

    assert [] == it.wrote(lambda: second.append(it.beat("A", epoch, **everything)))
    assert (first.answer, "STABLE") == (second[0].answer, it.at("A")[2])


@pytest.mark.parametrize(("made", "member_id"), [(stable, "A"), (unrevoked, "A"), (unrevoked, "B")])
def test_a_member_may_join_again_in_any_state(made, member_id):
    """It owns nothing, so what it had to give up is given up; the group epoch does not rise."""
    it = made()
    before = it.epochs

    again = it.join(member_id)

    assert ErrorCode.NONE is again.error
    assert again.assignment is not None
    assert (before, before[1]) == (it.epochs, again.epoch)
    assert set() == it.revoking(member_id)
