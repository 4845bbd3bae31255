"""Groups in a network that loses messages."""

from __future__ import annotations

import pytest

from emulator.report.hints.given import hints_of

from .test_hints_by_group import group, played

CRASH = '[[fault]]\nat = "120s"\ncrash = "billing-1"\n'


def found(loss: float, act: str = "", *lines: str):
    network = f"\n[network]\nloss = {loss}\n"
    report = played(act + network, group("billing", *lines), run_for="10min")
    return report, {hint.id: hint.text for hint in hints_of(report)}


@pytest.mark.parametrize("act", ["", CRASH])
def test_a_group_that_processes_nothing_for_losses_is_told_of_them(act):
    """A shorter session removes living members sooner, and cures nothing."""
    report, hints = found(0.4, act)

    assert report.metrics["evictions_living"]
    assert "shorter-session" not in hints
    assert (
        "loses 40 % of group requests and responses, so that 64 % of the exch"
        in hints["lost-messages"]
    )
    assert "request.timeout.ms (now 30000)" in hints["lost-messages"]
    assert "No setting of the group ends that" in hints["lost-messages"]


@pytest.mark.long
def test_losses_come_before_other_advice_on_members_that_drop_out():
    """Of the consumer protocol, whose members join again and drop out again."""
    _, hints = found(0.3, "", 'settings = { "group.protocol" = "consumer" }')

    assert "lost-messages" == next(iter(hints))


def test_losses_that_remove_nobody_are_not_blamed():
    """A member that died in a network that loses little is found by its session."""
    report, hints = found(0.001, CRASH)

    assert not report.metrics["evictions_living"]
    assert "lost-messages" not in hints
    assert "shorter-session" in hints


def test_a_hint_names_settings_as_the_client_does():
    """The time for which librdkafka waits is its socket.timeout.ms."""
    _, hints = found(0.4, "", 'client = "librdkafka"')

    assert "waits for socket.timeout.ms (now 60000)" in hints["lost-messages"]
