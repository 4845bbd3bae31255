"""The time around an incident that is compared and played."""

from __future__ import annotations

from emulator.blaming.case import case_of
from emulator.blaming.policies import Policy
from emulator.blaming.trials import cost_s, is_exact

from .incidents import SECOND, SETUP, evidence, steady


def lasting(**more):
    """Return ten minutes of two consumers; the first one stops at 100 s."""
    commits = [(at, 1, 10 * at) for at in range(5, 600, 5)]
    return evidence(
        steady("a", 0, 1, 100),
        steady("b", 1, 1, 600),
        steady("b", 0, 107, 600, first=980),
        commits=commits,
        generations=(0, 107),
        **more,
    )


def test_quiet_minutes_behind_an_incident_are_left_out():
    """The last sign is the repeat at 107 s; 8 s more are compared."""
    case = case_of(lasting(), SETUP)

    assert 10 == case.seen["repeated"]
    assert 114 <= case.evidence.work[-1].ended_us / SECOND <= 117
    assert case.warm_us < 45 * SECOND


def test_what_follows_much_later_is_not_compared():
    late = lasting()
    again = evidence(steady("b", 1, 500, 510, first=0)).work
    work = tuple(sorted((*late.work, *again), key=lambda done: done.ended_us))
    case = case_of(type(late)(work, late.commits, late.generations_us), SETUP)

    assert 10 == case.seen["repeated"]


def test_runs_of_long_incidents_are_fewer_and_computed():
    """Two consumers with 20 and with 500 records a second."""
    case = case_of(lasting(), SETUP)
    java, background, calls = (
        Policy("", "auto"),
        Policy("", "auto", client="librdkafka"),
        Policy("", "sync"),
    )

    assert is_exact(case)
    assert cost_s(case, java) == cost_s(case, background) < cost_s(case, calls)
    busy = evidence(steady("a", 0, 1, 100, every_s=0.004), steady("b", 1, 1, 300, every_s=0.004))
    long = case_of(busy, SETUP)
    assert not is_exact(long)
    assert cost_s(long, java) < cost_s(long, background)
