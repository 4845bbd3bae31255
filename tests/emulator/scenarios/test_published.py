"""The published set-ups: what was published lies where the emulator says it must."""

from __future__ import annotations

import pytest

from docs.pages.published import LINKS, PAGE, PLACE, SET_UPS
from emulator.comparison import read_variants
from emulator.metrics.catalogue import VALUES
from emulator.scenario import catalogue
from emulator.scenario.load import load_with

from .test_catalogue_deltas import row

SESSION_S = 45
FETCH_WAIT_S = 0.51
"""The longest wait of a fetch, and its way."""

HEARTBEAT_S = 3
BROKERS_HEARTBEAT_S = 5
METADATA_AGE_S = 300


def test_every_published_scenario_has_its_place_on_the_page():
    """The page has no scenario that is not in the catalogue."""
    published = {name for name in catalogue.names() if name.startswith("published-")}

    assert published <= SET_UPS.keys() <= set(catalogue.names())


@pytest.mark.parametrize("place", sorted(set(PLACE.findall(PAGE))))
def test_a_place_of_the_page_names_what_there_is(place):
    """A link; or a set-up, one of its rows, and a metric."""
    name, variant, metric = place
    if name in LINKS:
        return
    scenario = load_with(catalogue.path_of(name), ())
    rows = {each.name for each in read_variants(SET_UPS[name].rows, scenario)}

    assert {variant or next(iter(rows))} <= rows
    assert {metric or "lost"} <= {value.name for value in VALUES}


@pytest.mark.long
def test_added_partitions_wait_for_metadata_or_for_a_heartbeat():
    """103 s lie within one age of the metadata, 5 s are the heartbeat interval of the brokers."""
    classic = row("published-partitions-added", "classic, range").metrics
    ours = row("published-partitions-added", "consumer").metrics

    assert HEARTBEAT_S < classic["downtime_max_s"] < METADATA_AGE_S + HEARTBEAT_S + 1
    assert HEARTBEAT_S >= int(classic["time_to_stable_max_s"])
    assert BROKERS_HEARTBEAT_S / 4 < ours["downtime_max_s"] < BROKERS_HEARTBEAT_S + 0.5


@pytest.mark.long
def test_the_age_of_the_metadata_is_all_that_makes_it_long():
    """With a minute instead of five the wait is at most a minute and a heartbeat."""
    younger = row("published-partitions-added", "metadata.max.age.ms=1min").metrics

    assert 60 + HEARTBEAT_S + 1 > younger["downtime_max_s"]


@pytest.mark.long
def test_a_leave_is_noticed_after_a_heartbeat_and_a_crash_after_a_session():
    """The session is 45 s; 100 ms need heartbeats every 100 ms."""
    name = "published-leave-on-close"
    stayed, left, often = (
        row(name, variant).metrics["downtime_max_s"]
        for variant in ("no LeaveGroup", "LeaveGroup", "LeaveGroup, heartbeats every 100ms")
    )

    assert SESSION_S - HEARTBEAT_S <= stayed <= SESSION_S + HEARTBEAT_S + 1
    assert left <= HEARTBEAT_S + 0.1
    assert often == pytest.approx(0.1, abs=0.05)


@pytest.mark.long
def test_a_restart_of_one_in_forty_stops_all_for_a_heartbeat_at_most():
    """Forty of them are the two minutes that were published, at most."""
    eager = row("published-eager-deploy", "eager").metrics

    assert 0.1 < eager["time_to_stable_max_s"] <= HEARTBEAT_S + 0.1
    assert 3 == eager["rebalances"]


@pytest.mark.long
def test_static_members_restart_without_a_rebalance():
    """Only their own partitions are down, as long as they are away and close() waits for a fetch."""
    static = row("published-eager-deploy", "static, session of 60s").metrics

    assert 0 == static["rebalances"]
    assert 35 <= static["downtime_max_s"] <= 35 + FETCH_WAIT_S
    assert 2 * 5 * 35 <= static["downtime_total_s"] <= 2 * 5 * (35 + FETCH_WAIT_S)


@pytest.mark.long
def test_the_group_waits_for_the_silent_member_under_one_protocol_only():
    """Half an hour under an eager assignor; seconds without a barrier."""
    name = "published-slowest-poll"
    eager = row(name, "eager").metrics
    ours = row(name, "consumer, max.poll.interval 3min").metrics

    assert 1764 <= eager["downtime_max_s"] <= 1800
    assert BROKERS_HEARTBEAT_S + 1 >= ours["downtime_max_s"]
    assert 160 <= ours["time_to_stable_max_s"] <= 180


@pytest.mark.long
def test_latest_loses_the_rate_times_the_delay():
    """Three partitions, a record a second each."""
    for variant in ("classic", "consumer"):
        run = row("published-expansion-latest", variant)

        assert 3 * run.metrics["downtime_max_s"] == pytest.approx(run.ledger.lost, abs=6)
    assert 0 == row("published-expansion-latest", "earliest").ledger.lost
