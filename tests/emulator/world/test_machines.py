"""Machines and racks: several members stop together, and their brokers with them."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev
from emulator.scenario.problems import ScenarioError

SCENARIO = """
title = "machines"
run_for = "2min"
topic = [{{ name = "t", partitions = 6, rate = "2/s" }}]
cluster = {{ brokers = 3, racks = ["a", "b", "c"] }}
act = [{{ {act} }}]

[[group]]
id = "g"
topics = ["t"]
work = "{work}"
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }}
members = [
    {{ name = "g-0", settings = {{ "client.rack" = "a" }} }},
    {{ name = "g-1", settings = {{ "client.rack" = "b" }} }},
    {{ name = "g-2", settings = {{ "client.rack" = "b" }} }},
]
"""


def scenario(act: str, work: str = "1ms") -> emulator.Scenario:
    return emulator.loads(SCENARIO.format(act=act, work=work))


def stops(run: emulator.Run) -> list[tuple[str, str, int]]:
    found = [e for e in run.events if isinstance(e.what, ev.ConsumerStopped)]
    return [(e.what.consumer, e.what.how, e.at_us // 1_000_000) for e in found]


def starts(run: emulator.Run) -> list[tuple[str, int]]:
    found = [e for e in run.events if isinstance(e.what, ev.ConsumerStarted) and e.at_us]
    return [(e.what.consumer, e.at_us // 1_000_000) for e in found]


DRAIN = 'drain_node = ["g-1", "g-2"], at = "30s", restart_after = "10s"'


def test_members_of_a_drained_machine_close_together_and_start_elsewhere():
    drained = scenario(DRAIN)
    run = emulator.run(drained)

    assert stops(run) == [("g-1", "closed", 30), ("g-2", "closed", 30)]
    assert starts(run) == [("g-1", 40), ("g-2", 40)]
    assert run.ledger.reprocessed == run.ledger.lost == 0
    assert run.digest == emulator.run(drained, mode="exact", keep_events=False).digest


def test_a_notice_shorter_than_the_batch_kills_and_repeats():
    run = emulator.run(scenario(DRAIN + ', grace = "1s"', work="450ms"))

    assert {how for _, how, _ in stops(run)} == {"killed"}
    assert run.ledger.reprocessed > 0


def test_an_outage_of_a_rack_kills_its_brokers_and_members_until_it_ends():
    outage = scenario('zone_outage = "b", at = "30s", for = "40s"')
    run = emulator.run(outage)

    down = [e.what.broker for e in run.events if isinstance(e.what, ev.BrokerDown)]
    assert down == [2]
    [began] = [e.what for e in run.events if isinstance(e.what, ev.FaultBegan)]
    assert began.target == "b (broker-2, g-1, g-2)"
    assert "zone_outage-1" in {row["fault"] for row in run.metrics.listings["takeovers"]}
    assert stops(run) == [("g-1", "crashed", 30), ("g-2", "crashed", 30)]
    assert starts(run) == [("g-1", 70), ("g-2", 70)]
    assert run.digest == emulator.run(outage, mode="exact", keep_events=False).digest


def test_a_member_that_an_act_starts_in_a_failed_rack_waits_for_the_rack():
    """Its restart is due at 40 s, and its rack is back at 70 s; another rack is not affected."""
    acts = (
        'zone_outage = "b", at = "30s", for = "40s" }, '
        '{ close = "g-1", at = "25s", restart_after = "15s" }, '
        '{ close = "g-0", at = "25s", restart_after = "15s"'
    )
    assert starts(emulator.run(scenario(acts))) == [("g-0", 40), ("g-1", 70), ("g-2", 70)]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        ('drain_node = ["g-1", "g-7"], at = "1s"', "no such member"),
        ('drain_node = ["g-1", "g-1"], at = "1s"', "g-1"),
        ("drain_node = [], at = '1s'", "at least one"),
        ('zone_outage = "d", at = "1s", for = "1s"', "no such rack"),
        ('crash = "g-1", at = "1s", start_up = "5s"', "start_up: the process does not come back"),
        ('drain = ["g-1"], at = "1s"', 'did you mean "drain_node"'),
    ],
)
def test_names_that_do_not_exist_are_refused(act, message):
    with pytest.raises(ScenarioError, match=message):
        scenario(act)


@pytest.mark.long
@pytest.mark.parametrize("act", ['crash = "g-1"', 'close = "g-1"'])
def test_the_time_until_a_process_works_again_is_drawn(act):
    """The same for each run of a seed, and another one for other seeds."""
    keys = 'at = "30s", restart_after = "5s", start_up = { uniform = ["1s", "40s"] }'
    drawn = scenario(f"{act}, {keys}")
    times = [starts(emulator.run(drawn, seed=seed))[0][1] for seed in (0, 0, 1, 2)]

    assert times[0] == times[1]
    assert len({*times}) == 3
    assert all(36 <= at_s <= 75 for at_s in times)
