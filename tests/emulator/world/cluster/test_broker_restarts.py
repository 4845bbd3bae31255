"""Brokers that are stopped in order, alone or one after the other."""

from __future__ import annotations

import pytest

from emulator.events import (
    BrokerDown,
    BrokerFenced,
    BrokerUp,
    CoordinatorLoaded,
    CoordinatorMoved,
    FaultBegan,
    MemberRemoved,
    RebalanceStarted,
)

from ..stage import staged
from .cluster_bench import LATENCY, LOAD, SECOND, Bench

TOPIC = 'partitions = 6\nrate = "4/s"'


def test_a_broker_that_is_stopped_in_order_hands_over_what_it_leads_first():
    """Its session need not expire; waiting requests are answered."""
    bench = Bench()
    leader, _ = bench.form()
    joined = bench.join(leader)
    bench.brokers.stop(1, 0)
    bench.wait(LOAD)

    assert "NOT_COORDINATOR" == joined.error
    assert (2, (2, 3), [2]) == (bench.leader, bench.isr, sorted(bench.shard.hosts))
    assert [1] == [what.broker for what in bench.written(BrokerFenced)]
    assert {2, 3} == {log.replicas.leader for _, log in bench.world.topics.partitions()}


def test_the_only_copy_is_not_there_while_its_broker_is_stopped():
    """No other broker can lead it."""
    bench = Bench(settings='"offsets.topic.replication.factor" = 1')
    bench.commit(5)
    bench.settle()
    bench.brokers.stop(1, 0)
    assert -1 == bench.leader
    bench.wait(SECOND)
    bench.brokers.restart(1, 0)
    bench.wait(LOAD)

    assert (1, 5) == (bench.leader, bench.committed())


def test_a_broker_that_cannot_ask_the_controller_just_stops():
    """Its absence is noticed as that of one that was killed."""
    bench = Bench()
    bench.cut("broker-1", "controller")
    bench.brokers.stop(1, 0)
    assert 1 == bench.leader
    bench.wait(9 * SECOND)

    assert 2 == bench.leader


def test_stopping_who_is_down_does_nothing():
    """There is nothing to hand over."""
    bench = Bench()
    bench.brokers.crash(1, 0)
    bench.brokers.stop(1, 0)

    assert [1] == [what.broker for what in bench.written(BrokerDown)]


def test_a_stopped_broker_is_in_sync_again_when_it_is_back():
    """It leads nothing: leadership does not move back."""
    bench = Bench()
    bench.brokers.stop(1, 0)
    bench.settle()
    bench.brokers.restart(1, 0)
    bench.settle()

    assert (2, (1, 2, 3)) == (bench.leader, bench.isr)
    call = bench.commit(1)
    bench.settle()
    assert "NONE" == call.error


def test_a_stopped_broker_may_register_again_at_once():
    """It had left the cluster in order: there is no session."""
    bench = Bench()
    bench.brokers.stop(1, 0)
    bench.wait(SECOND)
    bench.brokers.restart(1, 0)

    assert [1] == [what.broker for what in bench.written(BrokerUp)]


# -- with consumers ------------------------------------------------------------------------------


def test_a_clean_stop_costs_a_load_and_no_more():
    """Half a second of commits that are tried again, no rebalance, nothing twice."""
    stop = '[[act]]\nstop_broker = "coordinator of g"\nat = "10s"\nrestart_after = "5s"\n'
    seen = staged(stop, topic=TOPIC, run_for="25s")
    moved = seen.only(CoordinatorMoved)

    assert (10 * SECOND + 10_000, 2) == (moved.at_us, moved.what.broker)
    assert [15 * SECOND] == seen.times(BrokerUp)
    assert [] == seen.after(10 * SECOND, RebalanceStarted) == seen.all(MemberRemoved)
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.lost


ROLL = """
[[act]]
rolling_broker_restart = {brokers}
at = "10s"
down_time = "3s"
gap = "2s"
{more}
"""


def rolled(brokers='"brokers"', more=""):
    return staged(ROLL.format(brokers=brokers, more=more), topic=TOPIC, run_for="60s")


def test_brokers_restart_one_after_the_other():
    """Each is down for its time, and the next one waits for the gap."""
    seen = rolled()
    downs = [(event.at_us // SECOND, event.what.broker) for event in seen.all(BrokerDown)]
    ups = [(event.at_us // SECOND, event.what.broker) for event in seen.all(BrokerUp)]

    assert [(10, 1), (15, 2), (20, 3)] == downs
    assert [(13, 1), (18, 2), (23, 3)] == ups
    assert 23 * SECOND == seen.ended_us("rolling_broker_restart-1")


def test_only_those_that_are_listed_restart_and_in_that_order():
    """Each as an act of its own."""
    seen = rolled('["broker-3", "broker-1"]')

    assert [3, 1] == [event.what.broker for event in seen.all(BrokerDown)]
    assert ["broker-3", "broker-1"] == [
        event.what.target for event in seen.all(FaultBegan, verb="restart_broker")
    ]


def test_a_rolling_restart_moves_the_coordinator_at_each_of_its_brokers():
    """Two times here: from the first to the second, and from that to the first that is back."""
    seen = rolled()

    assert [2, 1] == [event.what.broker for event in seen.all(CoordinatorLoaded)]
    assert [] == seen.after(10 * SECOND, RebalanceStarted)
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.lost


def test_killed_one_after_the_other_each_costs_its_session():
    """Nothing is handed over, and a new process waits until the old one is taken for dead.

    So for a while two of three are away, and those elected meanwhile die before they serve.
    """
    seen = rolled(more="clean = false")
    fenced = [19 * SECOND, 24 * SECOND, 29 * SECOND]

    assert fenced == seen.times(BrokerFenced) == seen.times(BrokerUp)
    assert [29 * SECOND + 10_000] == seen.times(CoordinatorLoaded)


@pytest.mark.parametrize("clean", ["true", "false"])
def test_every_restart_leads_back_to_the_act(clean):
    """Through the restart of its broker."""
    seen = rolled(more=f"clean = {clean}")
    root = seen.only(FaultBegan, verb="rolling_broker_restart").id
    for event in [*seen.all(BrokerDown), *seen.all(BrokerUp), *seen.all(CoordinatorMoved)]:
        chain = [event.cause]
        while chain[-1] is not None:
            chain.append(seen.control(chain[-1]).cause)

        assert root in chain


def test_commits_in_flight_when_a_broker_stops_get_not_coordinator():
    """Not after a timeout."""
    bench = Bench()
    call = bench.commit(1)
    bench.brokers.stop(1, 0)
    bench.wait(LATENCY)

    assert "NOT_COORDINATOR" == call.error
