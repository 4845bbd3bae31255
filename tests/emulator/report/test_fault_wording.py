"""Faults and acts in words."""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.ledger.entries import Root
from emulator.report.event_wording import event_text
from emulator.report.fault_wording import beginning_text, end_text, fault_text
from emulator.scenario.short_forms import TARGETS

from ..ledger.history import P0


def begun(verb, target):
    return ev.FaultBegan(fault="f", verb=verb, target=target)


@pytest.mark.parametrize("verb", TARGETS)
def test_every_verb_of_a_scenario_has_words(verb):
    """No report shows the key of the file alone."""
    assert f"{verb} x" != fault_text(begun(verb, "x"))


def test_a_rolling_restart_has_a_beginning_and_an_end():
    """As a whole it is named without them."""
    deploy = begun("rolling_restart", "billing")

    assert "a rolling restart of billing begins" == beginning_text(deploy)
    assert "a rolling restart of billing" == fault_text(deploy)
    assert "the rolling restart of billing ends" == end_text(deploy)
    assert "" == end_text(begun("crash", "billing-1"))


def test_an_entry_and_the_events_of_its_root_have_the_same_words():
    """Those of reports and pages."""
    restart = {"fault": "f", "verb": "restart", "target": "billing-1"}
    whole = "billing-1 is restarted"

    assert whole == fault_text(Root(1, 0, "f", "restart", "billing-1", 0))
    assert f"fault f begins: {whole}" == event_text(ev.FaultBegan(**restart), P0)
    assert f"fault f ends ({whole})" == event_text(ev.FaultEnded(**restart), P0)
    missed = ev.FaultMissed(**restart, why="too late")
    assert f"fault f did not fire ({whole}): too late" == event_text(missed, P0)
    refused = ev.ActRefused(**restart, group="billing", error="E", why="late")
    assert f"fault f is refused ({whole}): E: late" == event_text(refused, P0)
