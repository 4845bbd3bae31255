"""Static membership is recommended only where members keep their names."""

from __future__ import annotations

import pytest

from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "given"), [("gap=10s", True), ("names=random", False), ("surge=true", False)]
)
def test_pods_with_new_names_get_no_hint_on_instance_ids(key, given):
    """An id of a pod that does not come back keeps its partitions until the session is over."""
    _, report = reported(load_named("rolling-restart-eager", [f"act[rolling_restart-1].{key}"]), 0)

    assert given == ("static-membership" in {hint.id for hint in hints_of(report)})


@pytest.mark.long
def test_a_group_that_is_away_for_longer_than_any_session_gets_no_hint_on_instance_ids():
    """Brokers refuse a session of a weekend (group.max.session.timeout.ms)."""
    _, report = reported(load_named("i2-weekend-down"), 0)

    assert "static-membership" not in {hint.id for hint in hints_of(report)}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["p1-commits-between-two-rounds", "offsets-from-zookeeper-to-kafka"]
)
def test_ids_are_not_recommended_where_no_member_comes_back_or_its_consumer_knows_none(name):
    """One member starts and another one closes; the consumer of Kafka 0.8 has no such setting."""
    _, report = reported(load_named(name), 0)

    assert {"static-membership", "cooperative"}.isdisjoint(hint.id for hint in hints_of(report))
