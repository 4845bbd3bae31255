"""``rebalance run`` shows groups at the end: one line if they are stable, else what is missing."""

from __future__ import annotations

import pytest

from ..commands import CRASH, rebalance, written

OF_CONSUMERS = """
title = "a crash at the end"
run_for = "20s"
topic = [{ name = "orders", partitions = 6, rate = "2/s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }

[[fault]]
close = "billing-1"
at = "15s"
"""


def test_a_stable_group_of_the_consumer_protocol_is_one_line(tmp_path):
    """Its epoch, its assignor, its members."""
    _, out, _ = rebalance("run", written(tmp_path, OF_CONSUMERS), "--set", "fault[close-1].at=1s")

    assert "Groups at the end" not in out
    assert "  group        stable in epoch " in out
    assert "(uniform), 1 member\n" in out


def test_a_stable_classic_group_is_not_shown(tmp_path):
    """Its report has no additional line."""
    _, out, _ = rebalance("run", written(tmp_path))

    assert "Groups at the end" not in out
    assert "  group  " not in out


def test_a_group_that_waits_for_a_target_lists_unowned_partitions(tmp_path):
    """The closed member has left, and no heartbeat has come since."""
    path = written(tmp_path, OF_CONSUMERS)
    _, out, _ = rebalance("run", path, "--set", "run_for=15100ms")
    document = rebalance("run", path, "--set", "run_for=15100ms", "--json").document

    end = out[out.index("Groups at the end") :]
    (group,) = document["groups"]
    assert "billing: Assigning since 0:00:15.0" in end
    assert "; a member is gone: left" in " ".join(end.split())
    assert "not owned: orders-" in end
    assert "1 member has all partitions of the target assignment" in end
    assert ("Assigning", "consumer") == (group["state"], group["protocol"])
    assert 3 == len(group["unowned"])
    assert ["billing-0"] == [member["consumer"] for member in group["members"]]


def test_reconciling_members_are_named_with_what_they_wait_for(tmp_path):
    """The old owner has revoked, and the new one gets it with its next heartbeat."""
    joining = OF_CONSUMERS.replace("members = 2", 'members = ["a", { name = "b", start = "15s" }]')
    path = written(tmp_path, joining.replace('close = "billing-1"', 'hang = "b"\nfor = "1s"'))
    _, out, _ = rebalance("run", path, "--set", "run_for=17s")

    assert "billing: Reconciling since" in out
    assert "    not owned: orders-3..5\n" in out
    assert "    b: epoch 3, unreleased partitions, has nothing; waits for orders-3..5\n" in out
    assert "    1 member has all partitions of the target assignment\n" in out


def test_a_group_left_by_all_is_empty(tmp_path):
    """The same words for both protocols."""
    closing = CRASH.replace('crash = "billing-1"', 'close = "billing-0"\n') + (
        '\n[[act]]\nclose = "billing-1"\nat = "18s"\n'
    )
    _, out, _ = rebalance("run", written(tmp_path, closing.replace("[expect]\nlost = 0\n", "")))

    assert "billing: Empty since 0:00:18.0" in out
    assert "billing: Empty since" in out


def test_a_classic_group_in_a_rebalance_says_what_it_waits_for(tmp_path):
    """Here for a member that died in it."""
    joins = CRASH.replace("members = 2", 'members = ["a", { name = "b", start = "10s" }]')
    joins = joins.replace('crash = "billing-1"\nat = "18s"', 'crash = "a"\nat = "10100ms"')
    _, out, _ = rebalance("run", written(tmp_path, joins), "--set", "run_for=12s")

    assert "billing: PreparingRebalance since 0:00:10" in out
    assert "waits until all its members have joined again" in " ".join(out.split())


@pytest.mark.long
def test_classic_members_left_alone_get_advice():
    """A group of the consumer protocol whose target no member triggers, and the reason."""
    short = ("--set", "run_for=150s")
    upgrade = rebalance("run", "migration-no-way-back", *short).out
    both = "cluster.settings[group.consumer.migration.policy]=bidirectional"
    bidirectional = rebalance("run", "migration-no-way-back", *short, "--set", both).out

    help_ = " ".join(upgrade[upgrade.index("\nHints\n") :].split())
    assert help_.startswith("Hints - billing is a group of the consumer protocol")
    assert "Set group.consumer.migration.policy (now upgrade) to bidirectional" in help_
    assert "    not owned: orders-" in upgrade
    assert "classic members only" not in bidirectional
