"""Members that do something otherwise than their client: what it costs, and what is refused."""

from __future__ import annotations

import pytest

import emulator
from emulator.playing import Run
from emulator.scenario.problems import ScenarioError

LONG = pytest.mark.long

SMALL = """
title = "two members"
run_for = "60s"
topic = [{{ name = "t", partitions = 4, rate = "5/s", backlog = 60 }}]
{acts}
[[group]]
id = "g"
topics = ["t"]
members = {members}
work = "{work}"
{more}
[group.settings]
"auto.offset.reset" = "earliest"
"session.timeout.ms" = "6s"
{settings}
"""


def played(
    more: str, *, work: str = "2ms", acts: str = "", settings: str = "", members: str = "2"
) -> Run:
    text = SMALL.format(more=more, work=work, acts=acts, settings=settings, members=members)
    return emulator.run(emulator.loads(text))


@pytest.mark.parametrize("waits", [[], ["listener"], ["fetch"], ["work"]])
def test_heartbeats_wait_for_a_batch_only_where_the_client_says_so(waits):
    run = played(f"deviates.heartbeats_wait_for = {waits}", work="150ms")

    assert bool(run.metrics["evictions_living"]) == (waits == ["work"])


@pytest.mark.parametrize("waits", ["listener", "work"])
def test_a_listener_call_stops_the_heartbeats_that_wait_for_it(waits):
    run = played(
        f'deviates.heartbeats_wait_for = ["{waits}"]\nlistener = "9s"\nlistener_calls = ["revoked"]',
        acts='act = [{ start = "g-1", at = "20s" }]',
        members='["g-0", { name = "g-1", start = "by act" }]',
        settings='"partition.assignment.strategy" = "cooperative-sticky"',
    )

    assert bool(run.metrics["evictions_living"]) == (waits == "listener")


@pytest.mark.parametrize(("timeout", "evicted"), [("30s", True), ("2s", False)])
def test_a_poll_that_returns_lets_a_heartbeat_through(timeout, evicted):
    run = played_with_silent_leaders(timeout)

    assert bool(run.metrics["evictions_living"]) == evicted


def played_with_silent_leaders(timeout: str) -> Run:
    return emulator.run(
        emulator.load(
            "m6-fetch-blocks-heartbeats",
            overrides=[f"group[billing].poll_timeout={timeout}", "run_for=100s"],
        )
    )


RANGE = '"partition.assignment.strategy" = "range"'


@pytest.mark.one_of(2)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "change", "metric"),
    [
        ("j4-wrong-rebalance-timeout", "as-the-client-does", "reprocessed"),
        ("p6-listener-of-eager-calls", "as-the-client-does", "downtime_max_s"),
        ("i7-reset-at-each-assignment", "as-the-client-does", "reprocessed"),
        ("h5-loading-is-fatal", "as-the-client-does", "downtime_max_s"),
        ("h2-outside-the-group", "commit-more-often", "reprocessed"),
        pytest.param(
            "c3-heartbeats-between-records",
            "as-the-client-does",
            "evictions_living",
            marks=LONG,
        ),
        ("k3-rejoin-not-in-the-log", "newer-brokers", "reprocessed"),
        pytest.param("j1-refused-fetch-resets", "as-the-client-does", "lost", marks=LONG),
        pytest.param("k2-fenced-by-itself", "as-the-client-does", "downtime_max_s", marks=LONG),
        pytest.param("l2-ownership-checked-rarely", "as-the-client-does", "overlap_s", marks=LONG),
        pytest.param("l3-busy-members-own-all", "as-the-client-does", "reprocessed", marks=LONG),
        pytest.param("m4-session-ends-in-join", "as-the-client-does", "downtime_max_s", marks=LONG),
        pytest.param(
            "m5-heartbeats-stop-in-drain", "as-the-client-does", "reprocessed", marks=LONG
        ),
        pytest.param("m6-fetch-blocks-heartbeats", "as-the-client-does", "reprocessed", marks=LONG),
    ],
)
def test_the_advice_removes_what_the_deviation_costs(name, change, metric):
    advice = emulator.advise(name, seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == change]
    after = emulator.run(emulator.load(name, overrides=proposed.overrides))

    assert after.metrics[metric] < advice.run.metrics[metric]
    assert after.metrics["evictions_living"] <= advice.run.metrics["evictions_living"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "metric", "before", "after"),
    [
        ("n2-lost-sync-kept", "downtime_max_s", 305, 60),
        ("n3-new-members-kept", "rebalances", 2, 1),
    ],
)
def test_newer_brokers_wait_for_no_lost_sync_and_keep_no_ghosts(name, metric, before, after):
    """305 s is the client's request timeout, 60 s the rebalance timeout."""
    advice = emulator.advise(name, seeds=1)
    trial = next(each for each in advice.trials if each.proposal.id == "newer-brokers")

    assert trial.before[0][metric] == pytest.approx(before, abs=0.5)
    assert trial.after[0][metric] == pytest.approx(after, abs=0.5)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_reset_at_each_assignment_takes_no_committed_offset(protocol):
    acts = 'act = [{ close = "g-1", at = "20s", restart_after = "5s" }]'
    settings = f'"group.protocol" = "{protocol}"'
    settings = settings if protocol == "classic" else f"{settings}\n"
    text = SMALL if protocol == "classic" else SMALL.replace('"session.timeout.ms" = "6s"\n', "")
    filled = {"work": "2ms", "acts": acts, "settings": settings, "members": "2"}
    usual = emulator.run(emulator.loads(text.format(more="", **filled)))
    more = 'deviates.reset = "each assignment"'
    run = emulator.run(emulator.loads(text.format(more=more, **filled)))

    assert usual.ledger.reprocessed < 20 < 4 * 60 < run.ledger.reprocessed
    assert run.ledger.lost == 0


def test_a_coordinator_that_loads_ends_a_member_that_cannot_wait():
    acts = 'act = [{ start = "g-1", at = "21s" }, { move_coordinator = "g", at = "20s" }]'
    members = '["g-0", { name = "g-1", start = "by act" }]'
    hours = [
        played(
            f'deviates.loading = "{what}"\n', acts=f'{acts}\ncluster.load = "5s"', members=members
        )
        for what in ("retry", "fatal")
    ]

    assert [run.metrics["member_hours"] for run in hours] == pytest.approx(
        [(60 + 39) / 3600, 60 / 3600], abs=1e-4
    )


@pytest.mark.parametrize(
    ("more", "settings", "reason"),
    [
        (
            'heartbeats_wait_for = ["work"]',
            '"group.protocol" = "consumer"',
            "a thread of the client",
        ),
        ('refused_fetch = "reset"', "", "never answers STALE_MEMBER_EPOCH"),
        ('session_in_join = "runs"', "", "only a client that joins again"),
        ('listener = "whole assignment"', RANGE, "needs cooperative-sticky"),
        ('loading = "fatal"', '"group.protocol" = "consumer"', "the classic protocol"),
        ('ownership_check = "1min"', "", 'needs offsets = "zookeeper"'),
    ],
)
def test_a_deviation_that_the_client_cannot_have_is_refused(more, settings, reason):
    text = SMALL.format(
        more=f"deviates = {{ {more} }}", work="2ms", acts="", settings=settings, members="2"
    )
    with pytest.raises(ScenarioError, match=reason):
        emulator.loads(text)


def test_a_client_with_a_setting_for_the_rebalance_timeout_cannot_deviate_in_it():
    with pytest.raises(ScenarioError, match=r"has a setting for it: rebalance\.timeout\.ms"):
        played('client = "aiokafka"\ndeviates.rebalance_timeout = "20s"')


def test_a_deviation_with_its_usual_value_changes_nothing():
    plain = played("")
    usual = played('deviates = { refused_fetch = "retry", session_in_join = "rests" }')

    assert usual.digest == plain.digest
