"""Owners that go on after their group has given their partitions to others."""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.ledger.entries import Cause, Step

from .causes_of import only, owner_at_work
from .history import History


def test_a_zombie_and_its_successor_are_two_owners():
    """Uncommitted work of a paused owner, and work of both, have this cause."""
    history = owner_at_work()
    history.pause("a")
    history.next_owner("b", 80, 110, generation=2)
    history.resume("a")
    history.work("a", 100, 140)
    history.work("b", 110, 150, generation=2)

    only(history, Cause.TWO_OWNERS, 20 + 10 + 30)


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        (lambda history: history.pause("a"), [Step.PAUSED]),
        (lambda history: history.remove_member("a"), [Step.REMOVED]),
        (lambda history: history.remove_member("a", why=ev.Departure.LEFT), []),
        (
            lambda history: history.of(ev.ClientDropped, "a", reason="poll timeout"),
            [Step.DROPPED_OUT],
        ),
    ],
)
@pytest.mark.parametrize("earlier", [False, True])
def test_the_sign_of_a_zombie_is_shown_if_its_epoch_was_open(sign, shown, earlier):
    """A member that left by itself is none."""
    history = History() if earlier else owner_at_work()
    sign(history)
    if earlier:
        history.next_owner("a", 0, 100)
        history.commit("a", 80)
    history.next_owner("b", 80, 100, generation=2)
    (entry,) = history.ledger().entries

    signs = (Step.PAUSED, Step.REMOVED, Step.DROPPED_OUT)
    assert ([] if earlier else shown) == [link.step for link in entry.chain if link.step in signs]


def test_a_commit_refused_after_the_successor_began_is_no_cause():
    """A zombie's refused commit cannot be why its successor began where it did."""
    history = owner_at_work()
    history.pause("a")
    history.open("b", offset=80, generation=2)
    history.resume("a")
    history.refuse("a", 100)
    history.close("a", 100, "lost")
    history.work("b", 80, 110, generation=2)

    only(history, Cause.TWO_OWNERS, 20)
