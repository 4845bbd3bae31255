"""The catalogue's migrations: what a change of protocol costs, and what prevents it."""

from __future__ import annotations

from functools import cache

import pytest

import emulator
from emulator.events import ConsumerStopped, GroupConverted, GroupStabilised, TargetComputed
from emulator.ledger.entries import Cause
from emulator.playing import Run
from emulator.scenario import catalogue
from emulator.scenario.load import load_with

from .test_catalogue import played

THERE_AND_BACK = "migration-there-and-back"


@cache
def variant(scenario: str, name: str, seed: int = 0) -> Run:
    """Play one row of what ``rebalance compare`` shows of a scenario."""
    path = catalogue.path_of(scenario)
    (chosen,) = [each for each in emulator.load(path).variant if each.name == name]
    return emulator.run(load_with(path, chosen.changes), seed)


def converted(run: Run) -> list[tuple[str, int]]:
    """Return what its group became, and how many members went along."""
    whats = (event.what for event in run.events)
    return [
        (what.protocol, len(what.members)) for what in whats if isinstance(what, GroupConverted)
    ]


@pytest.mark.long
def test_a_migration_converts_the_group_twice_and_loses_nothing():
    """With the first that has the new setting, and when the last that has it goes."""
    run = played(THERE_AND_BACK)

    assert [("consumer", 2), ("classic", 2)] == converted(run)
    assert 0 == run.ledger.lost
    assert 0 == run.metrics["evictions"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["cooperative", "eager", "static"])
def test_a_migration_repeats_no_more_than_restarts_and_has_more_downtime(kind):
    """Its ledger is that of two rolling restarts; partitions wait for heartbeats of 5 s."""
    ours = variant(THERE_AND_BACK, f"{kind}, there and back")
    plain = variant(THERE_AND_BACK, f"{kind}, restarted twice")

    assert [] == converted(plain)
    assert {Cause.REVOKED} >= {Cause(cause) for cause in ours.ledger.by_cause()}
    assert 0 == ours.ledger.lost == plain.ledger.lost
    assert ours.ledger.reprocessed <= plain.ledger.reprocessed
    assert ours.metrics["rebalances"] <= plain.metrics["rebalances"]
    assert ours.metrics["downtime_max_s"] >= plain.metrics["downtime_max_s"]


@pytest.mark.long
def test_static_members_migrate_without_a_rebalance():
    """Both ways."""
    run = variant(THERE_AND_BACK, "static, there and back")

    assert [("consumer", 3), ("classic", 3)] == converted(run)
    assert 0 == run.metrics["rebalances"]


def test_the_refused_member_is_the_only_one_that_is_lost():
    """The deploy stops; three members go on with all partitions."""
    run = played("migration-refused")
    ends = [event.what for event in run.events if isinstance(event.what, ConsumerStopped)]
    last = [event.what for event in run.events if isinstance(event.what, GroupStabilised)][-1]

    assert [("billing-0", "closed"), ("billing-0", "failed")] == [
        (end.consumer, end.how) for end in ends
    ]
    assert [4, 4, 4] == [len(given) for _, given in last.assignment]
    assert [] == converted(run)


def test_an_unattended_deploy_leaves_one_member():
    """All but the last die; that one finds an empty group, which any policy lets change."""
    run = variant("migration-refused", "disabled, the deploy continues")
    failed = [
        event.what.consumer
        for event in run.events
        if isinstance(event.what, ConsumerStopped) and event.what.how == "failed"
    ]

    assert ["billing-0", "billing-1", "billing-2"] == failed
    assert [("consumer", 0)] == converted(run)


@pytest.mark.long
def test_after_a_rollback_without_downgrade_partitions_of_a_crashed_member_have_no_owner():
    """The epoch rises when its session expires; the target waits until it joins again."""
    run = played("migration-no-way-back")
    crashed = next(e.at_us for e in run.events if getattr(e.what, "fault", "") == "crash-1")
    targets = [e.at_us for e in run.events if isinstance(e.what, TargetComputed)]

    assert "classic" not in dict(converted(run))
    assert 120_000_000 <= min(at for at in targets if at > crashed) - crashed
    allowed = variant("migration-no-way-back", "bidirectional")
    assert ("classic", 3) == converted(allowed)[-1]
    assert 60 > allowed.metrics["downtime_max_s"]
