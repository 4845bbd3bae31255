"""Steps of a machine one after the other."""

from __future__ import annotations

from protocols.machine import SetTimer, Step, in_turn


def add_context(state, context, now):
    """Return the state raised by the context, and a timer now."""
    return Step(state + context, (SetTimer(str(state), now),))


def nothing(state, context, now):
    """Return the same state without effects."""
    return Step(state)


def test_each_move_begins_where_the_one_before_ended():
    """Effects are in the order of the moves."""
    step = in_turn((add_context, nothing, add_context), 1, 10, 5)

    assert step == Step(21, (SetTimer("1", 5), SetTimer("11", 5)))
    assert in_turn((nothing, nothing), step, 0, 0) == Step(step)
