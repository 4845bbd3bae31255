"""Every cell of the verdict tables, asked of a real coordinator."""

from __future__ import annotations

import pytest

from protocols.groups.classic.group import Group, transition
from protocols.groups.classic.states import QUIET, TABLES, Request, Sender, State
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


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("kind", [Request.HEARTBEAT, Request.OFFSET_COMMIT])
def test_quiet_is_an_answer_that_changes_only_a_lease_or_an_offset(kind: Request, state: State):
    """The query equals the result of handling the message."""
    it = Situation(state, Sender.MEMBER)
    generation = 1 if it.before is None else it.before.generation
    foretold = it.driver.coordinator.quiet(GROUP, it.follower, generation, kind)

    answer = ask(it, kind, Sender.MEMBER).answer

    errors = [answer.error] if kind is Request.HEARTBEAT else [error for _, error in answer.errors]
    accepted = not any(errors)
    unchanged = it.driver.shard.groups.get(GROUP) == it.before
    assert (accepted and unchanged) == foretold


def test_quiet_knows_strangers_and_stale_generations():
    """Only a member of the current generation can be quiet, and only in what it repeats."""
    it = Situation(State.STABLE, Sender.MEMBER)
    quiet = it.driver.coordinator.quiet
    generation = it.driver.group.generation

    assert quiet(GROUP, it.follower, generation, Request.HEARTBEAT)
    assert not quiet(GROUP, it.follower, generation - 1, Request.HEARTBEAT)
    assert not quiet(GROUP, "x-1", generation, Request.HEARTBEAT)
    assert not quiet(GROUP, it.follower, generation, Request.SYNC_GROUP)
    assert not quiet("other", it.follower, generation, Request.HEARTBEAT)

    it.driver.coordinator.unload(it.driver.now_us)

    assert not quiet(GROUP, it.follower, generation, Request.HEARTBEAT)


def test_quiet_acts_are_in_the_tables_of_what_members_repeat():
    """Heartbeats and commits are the only requests a member sends unasked."""
    found = {
        request for request, table in TABLES.items() for row in table.values() if set(row) & QUIET
    }

    assert {Request.HEARTBEAT, Request.OFFSET_COMMIT} == found


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
