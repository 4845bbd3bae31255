"""Deploys that go back: canaries that fail return to the version before."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev

from ..faults.test_deploys import LACKS_RANGE, begun, lives, of_processes, played

RARE_FETCHES = 'settings = { "fetch.min.bytes" = 1000000, "fetch.max.wait.ms" = 25000 }'
SHORT_POLLS = 'settings = { "max.poll.interval.ms" = 500 }'


def test_a_canary_that_fails_goes_back_and_the_others_stay():
    run = played(f'canary = 1, canary_for = "30s", roll_back = true, {LACKS_RANGE}')

    assert lives(run) == [
        ("g-0", "closed", 20),
        ("g-0", "start", 20),
        ("g-0", "failed", 20),
        ("g-0", "start", 30),
    ]
    assert begun(run, "roll_back") == ["g-0"]
    assert run.ledger.lost == 0


def test_a_canary_with_surge_goes_back_with_surge():
    """Its old version starts beside it and is ready after 5 s; then it ends, with its last fetch."""
    run = played(
        'canary = 1, canary_for = "30s", canary_lag = 0, roll_back = true, surge = true, '
        'ready_after = "5s", probe_every = "5s", settings = { "fetch.max.wait.ms" = 25000, '
        '"fetch.min.bytes" = 1000000 }'
    )

    assert lives(run) == [
        ("g-0+", "start", 20),
        ("g-0", "closed", 25),
        ("g-0++", "start", 25),
        ("g-0+", "closed", 52),
    ]
    assert begun(run, "roll_back") == ["g-0+"]
    assert run.ledger.lost == 0


def test_a_canary_that_was_never_ready_is_taken_back_and_its_predecessor_stays():
    """A later deploy restarts the predecessor, not the canary."""
    run = played(
        'canary = 1, roll_back = true, surge = true, readiness = "assigned", deadline = "20s"',
        strategy="cooperative-sticky",
        earlier='{ rolling_restart = "g", at = "2min", order = "reversed", gap = "1s" }, ',
    )

    assert lives(run)[:2] == [("g-0+", "start", 20), ("g-0+", "closed", 40)]
    assert begun(run, "surge") == ["g-0"]
    assert begun(run, "restart") == ["g-2", "g-1", "g-0"]
    assert [name for name, how, at_s in lives(run) if how == "start" and at_s >= 120] == [
        "g-2",
        "g-1",
        "g-0",
    ]


def test_a_canary_with_a_random_name_goes_back_under_another_one():
    run = played(f'canary = 1, roll_back = true, names = "random", {LACKS_RANGE}', static=True)
    started = [e.what for e in run.events if isinstance(e.what, ev.ConsumerStarted)]

    assert [(each.consumer, each.instance_id) for each in started[3:]] == [
        ("g-0+", "g-0.2"),
        ("g-0++", "g-0.3"),
    ]


def test_a_canary_goes_back_as_the_deploy_replaces_members():
    """The delay before SIGTERM, the time down, and the start-up."""
    run = played(
        f'canary = 1, roll_back = true, pre_stop = "2s", down_time = "3s", start_up = "4s", {LACKS_RANGE}'
    )

    assert lives(run) == [
        ("g-0", "closed", 22),
        ("g-0", "start", 29),
        ("g-0", "failed", 29),
        ("g-0", "start", 48),
    ]


@pytest.mark.parametrize(
    ("version", "limit", "said"),
    [
        (RARE_FETCHES, "canary_lag = 10", "has a lag of more than 10 records"),
        (RARE_FETCHES, "canary_lag = 100", ""),
        (SHORT_POLLS, "canary_errors = 1", "has had more than 1 errors"),
        (SHORT_POLLS, "canary_errors = 1000", ""),
    ],
)
def test_a_canary_beyond_a_limit_goes_back_at_the_next_probe(version, limit, said):
    """It reads once in 25 s, or its polls outlast their interval; it has a partition either way."""
    run = played(
        f'{limit}, roll_back = true, canary = 1, canary_for = "60s", probe_every = "5s", {version}',
        group='work = "700ms"',
    )
    back = [at_us for name, how, at_us in lives(run) if (name, how) == ("g-0", "start")]

    assert begun(run, "give_up") == ([f"g stops: g-0 {said}"] if said else [])
    assert begun(run, "roll_back") == (["g-0"] if said else [])
    assert not said or 20 < back[1] < 60


def test_a_canary_that_was_not_reached_does_not_go_back():
    """Also if an earlier deploy has changed its settings."""
    run = played(
        f'canary = 2, readiness = "assigned", deadline = "20s", roll_back = true, {LACKS_RANGE}',
        earlier='{ rolling_restart = "g", at = "5s", settings = { "max.poll.records" = 9 } }, ',
    )

    assert {name for name, _, at_us in lives(run) if at_us >= 20} == {"g-0"}
    assert begun(run, "give_up") == ["g stops: g-0 has ended"]
    assert begun(run, "roll_back") == ["g-0"]


@pytest.mark.parametrize(("canary", "back"), [(1, ["g-2"]), (4, ["g-2", "g-1", "g-0"])])
def test_canaries_that_go_back_are_those_that_were_restarted(canary, back):
    """The order begins with two members that wait for the autoscaler; they are left out."""
    run = played(
        f'order = "reversed", canary = {canary}, roll_back = true, {LACKS_RANGE}',
        group='autoscaler = { kind = "keda", max_replicas = 5, lag_threshold = 1000000 }',
    )

    assert begun(run, "restart") == begun(run, "roll_back") == back
    assert begun(run, "give_up") == ["g stops: g-2 has ended"]


def test_a_canary_is_a_process_and_goes_back_as_one():
    run = of_processes(f"canary = 1, roll_back = true, {LACKS_RANGE}")

    assert begun(run, "restart") == begun(run, "roll_back") == ["g-0", "g-1"]


def test_a_canary_of_several_members_goes_back_with_surge():
    run = of_processes(
        'canary = 1, roll_back = true, surge = 1, ready_after = "5s", canary_lag = 0, '
        'settings = { "fetch.max.wait.ms" = 25000, "fetch.min.bytes" = 1000000 }'
    )

    closed = [name for name, how, _ in lives(run) if how == "closed"]
    assert set(closed[:2]) == {"g-0", "g-1"}  # both at once; the fetches of one end first
    assert closed[2:] == ["g-0+", "g-1+"]
    assert lives(run)[-1][0] == "g-1+"


LAGS = (
    'canary = 2, canary_lag = 0, roll_back = true, order = ["g-1", "g-0", "g-2"], '
    'settings = { "fetch.max.wait.ms" = 25000, "fetch.min.bytes" = 1000000 }'
)
"""Two canaries whose fetches wait for 25 s: as soon as both are ready, a probe finds records that wait."""


def goings_back(run: emulator.Run) -> list[tuple[str, int]]:
    """Return the members that begin to go back, and when, in seconds."""
    found = [e for e in run.events if isinstance(e.what, ev.FaultBegan)]
    return [(e.what.target, e.at_us // 1_000_000) for e in found if e.what.verb == "roll_back"]


@pytest.mark.parametrize(
    "rules", ['gap = "3s"', 'ready_after = "20s"', 'ready_after = "5s", gap = "9s"']
)
def test_a_canary_goes_back_when_the_one_before_is_ready_and_the_gap_is_over(rules):
    run = played(f"{LAGS}, {rules}")
    (first, _), (second, begins) = goings_back(run)
    started = [at_s for name, how, at_s in lives(run) if (name, how) == ("g-1", "start")]
    waits = sum(int(key.split('"')[1].removesuffix("s")) for key in rules.split(","))

    assert (first, second) == ("g-1", "g-0")
    assert begins == started[-1] + waits


def test_as_many_canaries_go_back_together_as_may_be_unavailable():
    run = played(f'{LAGS}, max_unavailable = 2, ready_after = "5s"')
    (_, first), (_, second) = goings_back(run)

    assert first == second


def test_the_way_back_stops_at_a_member_that_ends():
    run = played(f'{LAGS}, ready_after = "20s"', earlier='{ crash = "g-1", at = "80s" }, ')

    assert begun(run, "roll_back") == ["g-1"]
    assert begun(run, "give_up")[1:] == ["g stops: g-1 has ended"]


@pytest.mark.parametrize(
    ("surge", "back"),
    [
        (1, [("g-1++", 30), ("g-0++", 52)]),
        (2, [("g-0++", 25), ("g-1++", 25)]),
    ],
)
def test_no_more_canaries_go_back_together_than_the_surge_allows(surge, back):
    found = lives(played(f'{LAGS}, ready_after = "5s", surge = {surge}'))

    assert sorted((n, at_s) for n, how, at_s in found if how == "start" and "++" in n) == sorted(
        back
    )
