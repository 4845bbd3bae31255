"""Autoscalers in a run: they start and stop members by the lag that an observer reads."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

import emulator
from emulator import events as ev
from emulator.advice.scaling_changes import longer_grace_of_replicas, longer_stabilization
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError
from emulator.verdicts.verdict import VerdictId
from emulator.world.autoscaling.loop import GroupScaler

SCENARIO = """
title = "scaled"
run_for = "{run_for}"
topic = [{{ name = "t", partitions = 4, rate = "{rate}", produce_until = "60s" }}]
{act}

[[group]]
id = "g"
topics = ["t"]
members = {members}
work = "20ms"
{group}
settings = {{ "auto.offset.reset" = "earliest", "auto.commit.interval.ms" = 1000 }}

[group.autoscaler]
{scaler}
"""


def scenario(scaler: str, **keys: object) -> emulator.Scenario:
    given = {"run_for": "3min", "rate": "30/s", "act": "", "members": 1, "group": "", **keys}
    lines = scaler.replace("; ", "\n")
    return emulator.loads(SCENARIO.format(scaler=lines, **given))


UP_AND_DOWN = (
    'max_replicas = 4; lag_threshold = 300; start_up = "5s"; '
    'scale_down.stabilization_window = "20s"'
)


def steps_of(run: emulator.Run) -> list[tuple[int, int]]:
    return [(row["before"], row["after"]) for row in run.metrics.listings["scalings"]]


@pytest.mark.long
def test_members_start_as_lag_rises_and_stop_as_it_falls_the_same_in_both_modes():
    scaled = scenario(UP_AND_DOWN)
    run = emulator.run(scaled)
    exact = emulator.run(scaled, mode="exact", keep_events=False)

    steps = steps_of(run)
    started = [e.at_us for e in run.events if isinstance(e.what, ev.ConsumerStarted)]
    assert steps[0][0] == 1
    assert max(after for _, after in steps) == run.metrics["replicas_max"] == 4
    assert steps[-1][1] == 1
    [first, *_] = [e.at_us for e in run.events if isinstance(e.what, ev.Rescaled)]
    assert started[1] == first + 1_000 + 5_000_000
    assert run.digest == exact.digest
    assert run.metrics.values == exact.metrics.values
    assert run.ledger.lost == run.metrics["backlog"] == 0


def test_replicas_cost_from_the_decision_on_and_are_useful_with_a_partition():
    run = emulator.run(
        scenario('max_replicas = 8; lag_threshold = 50; allow_idle_consumers = true; topic = "t"')
    )

    assert run.metrics["replicas_max"] == 8
    assert run.metrics["useful_replicas_share"] < 0.8
    assert run.metrics["replica_hours"] > run.metrics["member_hours"] * 0.9
    assert VerdictId.IDLE_REPLICAS in {verdict.id for verdict in run.verdicts}


def test_a_member_killed_by_a_step_down_is_the_root_of_what_is_repeated():
    scaled = scenario(
        'max_replicas = 4; lag_threshold = 2000; grace = "1s"; '
        'scale_down = { stabilization_window = "0s", policies = [{ replicas = 1 }] }',
        members=4,
        group='commit = "sync"',
        rate="160/s",
        run_for="6min",
    )
    run = emulator.run(scaled)

    assert Cause.CRASHED in run.metrics.tables["reprocessed.by_cause"]
    assert run.metrics["reprocessed_by_scaling"] == run.ledger.reprocessed > 0
    assert VerdictId.SCALING_REPEATS in {verdict.id for verdict in run.verdicts}


def test_keda_goes_to_zero_when_the_trigger_was_not_active_for_the_cooldown():
    run = emulator.run(
        scenario(
            'min_replicas = 0; max_replicas = 4; lag_threshold = 500; polling_interval = "10s"; '
            'cooldown_period = "30s"; initial_cooldown_period = "10min"; offset_reset_policy = "earliest"; '
            'topic = "t"',
            rate="5/s",
            run_for="4min",
        )
    )

    steps = run.metrics.listings["scalings"]
    assert [(step["before"], step["after"]) for step in steps] == [(1, 0)]
    assert 90 < steps[0]["at_s"] < 120


def test_a_member_that_has_not_begun_is_not_started_after_a_step_down():
    run = emulator.run(
        scenario(
            'max_replicas = 4; lag_threshold = 100; start_up = "90s"; '
            'scale_down.stabilization_window = "0s"',
            rate="15/s",
            run_for="4min",
        )
    )

    steps = run.metrics.listings["scalings"]
    started = [e.at_us for e in run.events if isinstance(e.what, ev.ConsumerStarted)]
    assert [(step["before"] < step["after"]) for step in steps[:2]] == [True, False]
    assert steps[1]["at_s"] < 90
    assert len(started) - 1 < steps[0]["after"] - 1


def test_a_deploy_leaves_members_alone_that_the_autoscaler_does_not_want():
    run = emulator.run(
        scenario(
            "max_replicas = 4; lag_threshold = 100000",
            act='act = [{ rolling_restart = "g", at = "30s" }]',
            members=2,
        )
    )

    assert {e.what.consumer for e in run.events if isinstance(e.what, ev.ConsumerStarted)} == {
        "g-0",
        "g-1",
    }


# -- deploys and processes of several members ------------------------------------------------------


def begins_of(run: emulator.Run) -> list[tuple[str, int]]:
    """Return each start of a consumer with its second."""
    return [
        (e.what.consumer, e.at_us // 1_000_000)
        for e in run.events
        if isinstance(e.what, ev.ConsumerStarted)
    ]


def ends_of(run: emulator.Run) -> list[str]:
    return [e.what.consumer for e in run.events if isinstance(e.what, ev.ConsumerStopped)]


OF_TWO = {"members": 2, "group": "threads = 2", "rate": "60/s"}


def test_a_replica_of_several_members_starts_and_stops_with_all_of_them():
    scaled = scenario(
        'max_replicas = 2; lag_threshold = 300; scale_down.stabilization_window = "20s"', **OF_TWO
    )
    run = emulator.run(scaled)

    assert steps_of(run) == [(1, 2), (2, 1)]
    assert [name for name, _ in begins_of(run)] == ["g-0", "g-1", "g-2", "g-3"]
    assert ends_of(run) == ["g-2", "g-3"]
    assert run.metrics["useful_replicas_share"] > 0.9
    assert run.digest == emulator.run(scaled, mode="exact", keep_events=False).digest


def test_a_replica_is_useful_with_one_partition_for_all_of_its_members():
    run = emulator.run(
        scenario(
            'max_replicas = 4; lag_threshold = 50; allow_idle_consumers = true; topic = "t"',
            **OF_TWO,
        )
    )
    [row] = run.metrics.listings["replicas"]

    assert (row["replicas_max"], row["members_max"], row["partitions"]) == (4, 8, 4)
    owned = (e.what for e in run.events if isinstance(e.what, ev.EpochOpened))
    assert {each.consumer for each in owned} == {"g-0", "g-1", "g-2", "g-3"}
    assert 0.4 < run.metrics["useful_replicas_share"] < 0.7


SURGE = 'act = [{{ rolling_restart = "g", at = "30s", surge = {}, ready_after = "50s" }}]'


def test_replicas_that_a_deploy_adds_count_for_the_hpa_as_in_kubernetes():
    """Within the tolerance the HPA wants as many as there are: 2, and 4 while the deploy has added 2."""
    steady = 'max_replicas = 8; lag_threshold = {}; tolerance = 0.99; kind = "hpa"; average_over = "1min"'
    keys: dict[str, Any] = {"members": 2, "run_for": "2min", "rate": "10/s"}
    calm = emulator.run(scenario(steady.format(200), **keys))
    deployed = emulator.run(scenario(steady.format(200), **keys, act=SURGE.format(2)))

    assert steps_of(calm) == []
    assert steps_of(deployed)[0] == (2, 4)


@pytest.mark.parametrize("way", ["surge = 1", 'names = "random"'])
def test_a_step_down_stops_the_successors_of_members_that_a_deploy_has_replaced(way):
    run = emulator.run(
        scenario(
            'max_replicas = 4; lag_threshold = 2000; scale_down.stabilization_window = "60s"',
            members=4,
            rate="20/s",
            act=f'act = [{{ rolling_restart = "g", at = "10s", {way} }}]',
        )
    )

    assert steps_of(run)[0] == (4, 1)
    assert ends_of(run)[4:] == ["g-1+", "g-2+", "g-3+"]


def test_a_step_down_during_a_deploy_stops_both_versions_and_the_deploy_goes_on():
    """g-2+ runs beside g-2 for 40 s; the autoscaler removes that replica meanwhile."""
    run = emulator.run(
        scenario(
            'max_replicas = 3; lag_threshold = 2000; scale_down.stabilization_window = "30s"',
            members=3,
            rate="20/s",
            act='act = [{ rolling_restart = "g", at = "20s", order = "reversed", surge = 1, '
            'ready_after = "40s" }]',
        )
    )

    assert steps_of(run)[0] == (3, 1)
    assert {"g-2", "g-2+"} <= set(ends_of(run))
    assert begins_of(run)[-1][0] == "g-0+"
    assert not [e for e in run.events if getattr(e.what, "verb", "") == "give_up"]


def test_replicas_that_start_after_a_deploy_have_its_version():
    run = emulator.run(
        scenario(
            UP_AND_DOWN,
            act='act = [{ rolling_restart = "g", at = "1s", settings = { "max.poll.records" = 7 } }]',
        ),
        polls=True,
    )
    polled = {
        e.what.consumer: sum(end - first for _, first, end in e.what.ranges)
        for e in run.events
        if isinstance(e.what, ev.Polled) and e.at_us > 2_000_000
    }

    assert len(polled) > 2
    assert max(polled.values()) <= 7


def test_replicas_that_start_before_the_canary_is_healthy_are_replaced_after_it():
    """Until then it starts the old version. The first restart waits for the first join phase, 3 s."""
    deploy = 'act = [{{ rolling_restart = "g", at = "1s", {}, settings = {{ "max.poll.records" = 7 }} }}]'
    canary, listed = (
        begins_of(emulator.run(scenario(UP_AND_DOWN, act=deploy.format(way))))
        for way in ('canary = 1, canary_for = "50s"', 'order = ["g-0"]')
    )
    new = ["g-1", "g-2", "g-3"]

    assert [name for name, second in canary if 3 < second < 50] == new
    assert [name for name, second in canary if second > 50] == new
    assert [name for name, second in listed if second > 3] == new


def metrics_of(
    monkeypatch: pytest.MonkeyPatch, scaled: emulator.Scenario, name: str = "_metric"
) -> list[Any]:
    """Run a scenario; return what its autoscaler read, by a method of its loop."""
    read, found = getattr(GroupScaler, name), []

    def reading(scaler: GroupScaler) -> Any:
        found.append(read(scaler))
        return found[-1]

    monkeypatch.setattr(GroupScaler, name, reading)
    emulator.run(scaled)
    return found


@pytest.mark.long
def test_keda_polls_for_zero_and_the_hpa_syncs_for_all_other_steps(monkeypatch):
    """``pollingInterval`` is 30 s, ``--horizontal-pod-autoscaler-sync-period`` 15 s."""
    keys = "max_replicas = 4; lag_threshold = 500"

    polls = len(metrics_of(monkeypatch, scenario(keys), "_poll"))
    syncs = len(metrics_of(monkeypatch, scenario(keys), "_sync"))
    seldom = len(metrics_of(monkeypatch, scenario(keys + '; polling_interval = "1min"'), "_poll"))
    assert (polls, syncs, seldom) == (6, 12, 3)


def test_a_consumer_that_progresses_never_has_persistent_lag_only(monkeypatch):
    scaled = scenario(
        "max_replicas = 1; lag_threshold = 500; exclude_persistent_lag = true",
        rate="60/s",
        run_for="2min",
    )

    found = metrics_of(monkeypatch, scaled)
    behind = [metric.lag for metric in found if metric.lag_of_activity > 100]
    assert len(behind) > 3
    assert min(behind) > 0


def test_an_hpa_reads_a_database_while_the_coordinator_is_down_and_kafka_not(monkeypatch):
    hpa, down = (
        'kind = "hpa"; max_replicas = 1',
        'fault = [{ crash_broker = "broker-1", at = "30s" }]\n[cluster]\nbrokers = 1',
    )
    kafka = metrics_of(monkeypatch, scenario(hpa, act=down, run_for="60s"), "_read")
    own = metrics_of(
        monkeypatch, scenario(hpa, act=down, run_for="60s", group='offsets = "database"'), "_read"
    )

    assert None in kafka
    assert None not in own


def test_an_hpa_forgets_what_was_read_before_a_scrape_that_failed(monkeypatch):
    scaler = GroupScaler.__new__(GroupScaler)
    scaler._scraped = deque([(0, 900)])
    scaler._run = SimpleNamespace(kernel=SimpleNamespace(now=15_000_000))
    monkeypatch.setattr(GroupScaler, "_read", lambda _: None)

    scaler._scrape()

    assert not scaler._scraped


def test_advice_has_a_grace_period_above_the_batch_and_a_window_that_kubernetes_allows():
    given = scenario('max_replicas = 4; grace = "1s"; scale_down.stabilization_window = "40min"')
    times = {"batch_s": 0.7, "stopping_s": 0.7, "batch_text": "a batch", "listener_text": ""}
    situation: Any = SimpleNamespace(group=given.group[0], **times)

    grace, window = longer_grace_of_replicas(situation), longer_stabilization(situation)
    assert grace is not None
    assert window is not None
    assert grace.overrides == ("group[g].autoscaler.grace=2s",)
    assert window.overrides == ("group[g].autoscaler.scale_down.stabilization_window=1h",)


def test_without_an_autoscaler_the_figures_are_zero_and_the_share_has_no_value():
    run = emulator.run(emulator.loads(SCENARIO.format(
        run_for="5s", rate="1/s", act="", members=1, group="", scaler="max_replicas = 1"
    ).partition("[group.autoscaler]")[0]))  # fmt: skip

    assert run.metrics["scalings"] == run.metrics["replica_hours"] == 0
    assert not run.metrics.has("useful_replicas_share")


@pytest.mark.parametrize(
    ("scaler", "keys", "message"),
    [
        ('max_replicas = 4; kind = "hpa"; cooldown_period = "1s"', {}, 'only kind = "keda"'),
        ('max_replicas = 4; average_over = "1s"', {}, 'only kind = "hpa"'),
        ('max_replicas = 4; kind = "hpa"; min_replicas = 0', {}, "needs KEDA"),
        ("max_replicas = 4; min_replicas = 5", {}, "larger than"),
        ("max_replicas = 4; limit_to_partitions_with_lag = true", {}, 'without "topic"'),
        (
            'max_replicas = 4; topic = "t"; allow_idle_consumers = true; limit_to_partitions_with_lag = true',
            {},
            "KEDA refuses",
        ),
        ('max_replicas = 4; topic = "u"', {}, "it reads t"),
        ("max_replicas = 4; scale_up.policies = [{ period = '1s' }]", {}, "exactly one of"),
        ("max_replica = 4", {}, "max_replicas"),
        ("max_replicas = 4; scale_down.stabilization_window = '2h'", {}, "1h at most"),
        (
            "max_replicas = 4; scale_up.policies = [{ replicas = 1, period = '1h' }]",
            {},
            "30min at most",
        ),
        ("max_replicas = 2", {"members": 3}, "begins with 3 members, and max_replicas is 2"),
        ("max_replicas = 4", {"group": 'offsets = "database"'}, "committed offsets from Kafka"),
        ("max_replicas = 4", {"act": 'act = [{ start = "g-2", at = "9s" }]'}, "starts it"),
        (
            "max_replicas = 4",
            {"members": 3, "group": "threads = 2"},
            "g-2, g-3 are one process",
        ),
        (
            "max_replicas = 1",
            {"members": 4, "group": "threads = 2"},
            "begins with 2 processes of 2 members each",
        ),
        ("max_replicas = 60000", {"group": "threads = 2", "members": 2}, "more than 100,000"),
    ],
)
def test_what_an_autoscaler_cannot_do_is_refused_with_the_reason(scaler, keys, message):
    with pytest.raises(ScenarioError, match=message):
        scenario(scaler, **keys)
