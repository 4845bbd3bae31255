"""The invariants of classic groups notice a state that no request can make."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.groups.classic.invariants import check_group
from protocols.groups.classic.states import State
from protocols.messages import Header
from protocols.values import replace

from .driver import GroupDriver

HEADER = Header("a", 1)


def stable() -> Any:
    """Return a stable group of two members."""
    driver = GroupDriver()
    driver.stable("a", "b")
    check_group(driver.group)
    return driver.group


WRONG = {
    "a stable group without a generation": lambda g: {"generation": 0},
    "a stable group that is in its initial delay": lambda g: {"window": (1, 1)},
    "a stable group whose member waits for SyncGroup": lambda g: {
        "syncing": g.syncing.set(g.leader_id, HEADER)
    },
    "a dynamic member that joins in a stable group": lambda g: {
        "joining": g.joining.set(g.leader_id, HEADER)
    },
    "another assignor than the members chose": lambda g: {"protocol_name": "other"},
    "a leader that is no member": lambda g: {"leader_id": "nobody"},
    "no leader": lambda g: {"leader_id": None},
    "members without a type": lambda g: {"protocol_type": None},
    "an instance without a member": lambda g: {"static_members": g.static_members.set("i", "x")},
    "a wrong count of supporters": lambda g: {"support": g.support.set("range", 1)},
    "a place that was not given": lambda g: {
        "insertions": max(member.arrived for member in g.members.values())
    },
    "a table that is no power of two": lambda g: {"table_length": 12},
    "a table that is too small": lambda g: {"table_length": 2},
    "a member that has joined and is pending": lambda g: {
        "pending_joins": g.pending_joins.set(g.leader_id, None)
    },
    "a stranger that joins": lambda g: {"joining": g.joining.set("x", HEADER)},
    "a stranger that has an assignment": lambda g: {"assignments": g.assignments.set("x", ())},
    "a completing group without a generation": lambda g: {
        "state": State.COMPLETING_REBALANCE,
        "pending_syncs": g.pending_syncs.update(g.members),
        "generation": 0,
    },
    "a completing group whose members have not to sync": lambda g: {
        "state": State.COMPLETING_REBALANCE
    },
    "a preparing group in a delay that did not begin empty": lambda g: {
        "state": State.PREPARING_REBALANCE,
        "previous_state": State.STABLE,
        "window": (1, 1),
    },
    "an empty group with members": lambda g: {"state": State.EMPTY, "protocol_name": None},
    "a dead group": lambda g: {"state": State.DEAD},
    "a generation below 0": lambda g: {"state": State.PREPARING_REBALANCE, "generation": -1},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_group_is_noticed(what: str):
    group = stable()
    wrong = _changed(group, WRONG[what](group))

    with pytest.raises(AssertionError):
        check_group(wrong)


def _changed(group: Any, changes: dict[str, Any]) -> Any:
    """Return the group with changes that the type of its fields may not allow."""
    return replace(group, **changes)


@pytest.mark.parametrize("state", [State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE])
def test_a_group_that_rebalances_is_right(state: State):
    """Its members have SyncGroup to send; in the preparation nobody has."""
    group = stable()
    completes = state is State.COMPLETING_REBALANCE
    pending = group.pending_syncs.update(group.members) if completes else group.pending_syncs

    check_group(_changed(group, {"state": state, "pending_syncs": pending}))


def test_a_full_table_is_right():
    """Twelve members in sixteen slots: one more lets it grow."""
    driver = GroupDriver()
    driver.stable(*"abcdefghijkl")

    assert (12, 16) == (len(driver.group.members), driver.group.table_length)
    check_group(driver.group)
