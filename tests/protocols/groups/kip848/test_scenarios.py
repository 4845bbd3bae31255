"""Rules of the consumer protocol that a wrong coordinator is likely to break, beside the others.

``scenario_table.py`` lists the test of each rule.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assignors.registry import SERVER_SIDE
from protocols.messages import LeaveGroupRequest, LeavingMember

from .driver import GROUP, ConsumerGroupDriver, topic
from .scenario_table import SCENARIOS

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize("area", sorted(SCENARIOS))
def test_every_rule_of_the_table_has_its_test(area):
    """Each rule names a test that there is."""
    for rule, places in SCENARIOS[area].items():
        assert places, rule
        for place in places:
            file, _, name = place.partition("::")
            tree = ast.parse((HERE / file).read_text())
            found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in found, f"{rule}: {place}"


# -- input of the assignor ---------------------------------------------------------------------


def asked_of(*topics: Any) -> tuple[ConsumerGroupDriver, list[Any]]:
    """Return a group with an assignor that keeps its input."""
    asked: list[Any] = []

    def assign(topics: Any, subscriptions: Any) -> Any:
        asked.append((topics, subscriptions))
        return SERVER_SIDE["uniform"](topics, subscriptions)

    it = ConsumerGroupDriver(
        *topics,
        assignors={"mine": assign, **SERVER_SIDE},
        group_consumer_assignors=("mine", "uniform", "range"),
    )
    return it, asked


def test_a_joining_member_is_counted_and_a_leaving_one_is_not():
    """A joining member counts for homogeneity; one that left takes its target with it."""
    it, asked = asked_of(topic(), topic("u"))
    it.join("A")
    it.join("B")
    assert asked[-1][0].same_for_all

    it.join("C", "t", "u")
    topics, subscriptions = asked[-1]
    assert not topics.same_for_all
    assert {"A", "B", "C"} == set(subscriptions)
    it.leave("C")
    it.beat("A")

    assert asked[-1][0].same_for_all
    assert {"A", "B"} == set(asked[-1][1])


def test_a_replaced_static_member_is_counted_once_and_leaves_its_target():
    """The assignor meets the new id, with what the old one was to have."""
    it, asked = asked_of(topic(partitions=4))
    it.join("A")
    it.join("S", instance="i")
    it.settle("A", "S")
    inherited = it.target("S")
    it.beat("S", -2, instance="i")
    it.leave("A")

    it.join("S2", instance="i")

    topics, subscriptions = asked[-1]
    assert topics.same_for_all
    assert ["S2"] == list(subscriptions)
    assert inherited == {tp.partition for tp in subscriptions["S2"].owned_partitions}
    assert {0, 1, 2, 3} == it.assigned("S2")


# -- what raises the group epoch ---------------------------------------------------------------


def _silent(it: ConsumerGroupDriver) -> None:
    it.advance(30_000)
    it.beat("A")
    it.advance(20_000)


def _does_not_revoke(it: ConsumerGroupDriver) -> None:
    it.beat("A", subscribed_topic_names=("t", "u"))
    it.beat("B", subscribed_topic_names=("u",))
    for _ in range(7):
        it.advance(10_000)
        it.acknowledge("A")
        if it.group.member("B"):
            it.beat("B")


def _removed(it: ConsumerGroupDriver) -> None:
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("B"),)))


@pytest.mark.parametrize(
    "goes", [_silent, _does_not_revoke, _removed, lambda it: it.leave("B")],
    ids=["silent", "does not revoke", "removed", "leaves"],
)  # fmt: skip
def test_however_a_member_goes_the_epoch_rises_once_and_no_target_is_computed(
    goes: Callable[[ConsumerGroupDriver], None],
):
    """Three tombstones and the epoch, in one batch; the next heartbeat of who stays computes."""
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    it.join("A", rebalance_timeout_ms=60_000)
    it.join("B", rebalance_timeout_ms=60_000)
    it.settle("A", "B")

    goes(it)

    (batch,) = [batch for batch in it.batches if batch[0].value is None]
    assert [8, 7, 5, 3] == [record.key.record_type for record in batch]
    it.beat("A")
    assert it.epochs[0] == it.epochs[1]
    assert it.target("A") == set(range(6))


def test_two_causes_in_one_heartbeat_raise_the_epoch_once():
    """The member reads another topic, and a topic has grown."""
    it = ConsumerGroupDriver(topic(partitions=2), topic("u", 2))
    it.join("A")
    it.settle("A")
    it.topics_are(topic(partitions=4), topic("u", 2))

    it.beat("A", subscribed_topic_names=("t", "u"))

    assert (3, 3) == it.epochs
    assert 1 == it.types.count("3")
    assert ({0, 1, 2, 3}, {0, 1}) == (it.target("A"), it.target("A", "u"))


def test_leaving_for_a_while_raises_nothing_and_the_return_neither():
    """The group goes on with the same target, and is reconciling meanwhile."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("S", instance="i")
    it.settle("A", "S")

    assert ["8"] == it.wrote(lambda: it.beat("S", -2, instance="i"))
    assert ((3, 3), "Reconciling") == (it.epochs, it.state)
    it.join("S2", instance="i")

    assert ((3, 3), "Stable") == (it.epochs, it.state)
