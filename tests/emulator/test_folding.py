"""Random runs polled by arithmetic, against the same runs polled through the client each time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from emulator.events import Event
from emulator.scenario.load import scenario_of
from emulator.scenario.model import Scenario
from emulator.scenario.part import Source
from emulator.world.build import play

from .test_brute_force import seeds, tidy, unhurried
from .truncated_worlds import TRUNCATED
from .worlds import DISTURBED


def played(scenario: Scenario, seed: int, *, folding: bool) -> tuple[list[Event], str]:
    """Play with machines asserting their invariants; return all events and their digest."""
    events: list[Event] = []
    outcome = play(scenario, seed, (events.append,), check=True, folding=folding)
    return events, outcome.digest


def hold_equal(document: dict, seed: int) -> None:
    """Assert that both ways of polling write the same events."""
    scenario = scenario_of(tidy(document), Source("random", None))
    quick, digest = played(scenario, seed, folding=True)
    slow, slow_digest = played(scenario, seed, folding=False)
    for ours, theirs in zip(quick, slow, strict=False):
        assert ours == theirs
    assert len(quick) == len(slow)
    assert digest == slow_digest


@settings(unhurried, max_examples=8)
@given(document=DISTURBED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event(document, seed):
    """Which consumers poll by arithmetic, and when, shows in nothing that is written."""
    hold_equal(document, seed)


@settings(unhurried, max_examples=6)
@given(document=TRUNCATED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event_of_a_truncation(document, seed):
    """Nor where logs lose their end under their readers."""
    hold_equal(document, seed)


@pytest.mark.long
@settings(unhurried, max_examples=30)
@given(document=DISTURBED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event_for_long(document, seed):
    """The same for more than a thousand runs."""
    hold_equal(document, seed)
