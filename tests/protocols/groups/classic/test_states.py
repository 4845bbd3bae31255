"""Every cell of the verdict tables, asked of a real coordinator."""

from __future__ import annotations

import pytest

from protocols.groups.classic.group import Group, transition
from protocols.groups.classic.states import TABLES, Request, Sender, State
from protocols.messages.errors import ErrorCode

from .situations import Situation, ask, seen
from .wire import GROUP

CELLS = [
    pytest.param(request, who, state, id=f"{request.value}-{who.name}-{state.label}")
    for request, table in TABLES.items()
    for who, row in table.items()
    for state in State
    if row[state] is not None
]


@pytest.mark.parametrize(("request_", "who", "state"), CELLS)
def test_a_cell_is_what_the_coordinator_does(request_: Request, who: Sender, state: State):
    """The verdict of each cell is what a client and the group's next state show."""
    kind = "another" if who is Sender.OTHER_GROUP else "consumer"
    it = Situation(state, who, protocol_type=kind)

    call = ask(it, request_, who)

    assert TABLES[request_][who][state] == seen(it, request_, call)


@pytest.mark.parametrize("state", [State.COMPLETING_REBALANCE, State.STABLE])
def test_a_heartbeat_leaves_the_group_as_it_is(state: State):
    """Only the session timer changes."""
    it = Situation(state, Sender.MEMBER)

    ask(it, Request.HEARTBEAT, Sender.MEMBER)

    assert it.before == it.driver.shard.groups[GROUP]


def test_every_error_of_a_dead_group_sends_the_client_away():
    """No cell of the last column lets anything happen."""
    dead = {row[State.DEAD] for table in TABLES.values() for row in table.values()}

    assert {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_ID_NOT_FOUND} == dead


LEGAL = {
    (State.PREPARING_REBALANCE, State.EMPTY),
    (State.STABLE, State.PREPARING_REBALANCE),
    (State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE),
    (State.EMPTY, State.PREPARING_REBALANCE),
    (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE),
    (State.COMPLETING_REBALANCE, State.STABLE),
    *((state, State.DEAD) for state in State if state is not State.ABSENT),
}


@pytest.mark.parametrize("later", [state for state in State if state is not State.ABSENT])
@pytest.mark.parametrize("earlier", [state for state in State if state is not State.ABSENT])
def test_only_legal_transitions_are_made(earlier: State, later: State):
    """Anything else is a mistake of ours and stops at once; the time of the change is kept."""
    group = Group("g", state=earlier)

    if (earlier, later) not in LEGAL:
        with pytest.raises(AssertionError, match=f"{earlier.label} to {later.label}"):
            transition(group, later, 7)
        return

    after = transition(group, later, 7)
    assert (later, earlier, 7) == (after.state, after.previous_state, after.state_since_ms)
