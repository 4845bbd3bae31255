"""``rebalance explain`` shows a group of the consumer protocol as an administrator would see it."""

from __future__ import annotations

from ..commands import rebalance, written

OF_CONSUMERS = """
title = "a close is cut off"
run_for = "70s"

[[topic]]
name = "orders"
partitions = 2
rate = "2/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }

[[fault]]
crash = "billing-1"
at = "14s"
"""


def test_the_group_is_described_at_the_last_step_of_the_story(tmp_path):
    """Its epochs, and each member with what it has; as JSON too."""
    path = written(tmp_path, OF_CONSUMERS)

    status, out, err = rebalance("explain", path, "D1")
    document = rebalance("explain", path, "D1", "--json").document

    last = out[out.index("* evidence of the cause") :].splitlines()
    assert (0, "") == (status, err)
    assert last[2].startswith("billing at 0:0")
    assert "1 member" in last[2]
    assert "has orders-0 orders-1" in last[3] or "waits for" in last[3]
    assert "billing" == document["described"]["group"]
    assert ["billing-0"] == [each["consumer"] for each in document["described"]["members"]]


def test_a_classic_group_is_not_described_so(tmp_path):
    """Its generations are in the story itself."""
    assert rebalance("explain", written(tmp_path), "D1", "--json").document["described"] is None
