"""Limits other than the members' work: the writes of ZooKeeper, transactions, replicas."""

from __future__ import annotations

import json
from math import inf

import pytest

import emulator
from emulator.scenario.estimates.loads import loads_of

from ..cli.commands import rebalance, written

GROUP = """
title = "limits"
run_for = "60s"
topic = [{{ name = "orders", partitions = 24, rate = "2/s" }}]
{table}

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "1ms"
{own}
"""
ZOOKEEPER = """
zookeeper = { writes = "4/s" }
fault = [{ crash = "billing-1", at = "30s" }]
"""
OWN = """
offsets = "zookeeper"
settings = { "auto.commit.interval.ms" = "2s", "session.timeout.ms" = "10s" }
"""


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("zk"), GROUP.format(table=ZOOKEEPER, own=OWN))
    return json.loads(rebalance("run", path, "--json").out)


def test_a_round_of_writes_takes_as_long_as_its_partitions_and_the_limit_say(bound):
    """24 writes at 4 a second, from both members in turn."""
    assert 5 < bound["metrics"]["commit_round_max_s"] < 8
    assert bound["metrics"]["store_wait_max_s"] < 1


def test_where_writes_are_the_limit_the_hint_is_fewer_writes(bound):
    """And the change that is tried keeps offsets in Kafka; commits cannot be more frequent."""
    hints = {each["id"] for each in bound["advice"]["hints"]}
    changes = {each["id"] for each in bound["advice"]["changes"]}

    assert "fewer-writes" in hints
    assert "commit-more-often" not in hints
    assert "offsets-in-kafka" in changes


def test_where_members_are_the_limit_the_hint_is_commit_more_often(tmp_path):
    """The same crash with an ensemble that takes the writes."""
    path = written(tmp_path, GROUP.format(table=ZOOKEEPER, own=OWN))
    fast = ("--set", "zookeeper.writes=1000/s")
    answer = json.loads(rebalance("run", path, "--json", *fast).out)

    hints = {each["id"] for each in answer["advice"]["hints"]}
    assert "commit-more-often" in hints
    assert "fewer-writes" not in hints


def load(table, own):
    (found,) = loads_of(emulator.loads(GROUP.format(table=table, own=own)))
    return found


def test_a_database_commits_a_batch_a_transaction():
    """However many members there are; without a limit it limits nothing."""
    own = 'offsets = "database"\nsettings = { "max.poll.records" = 5 }'
    limited = load('database = { transactions = "8/s" }', own)

    assert (40, 40, True) == (limited.store, limited.capacity, limited.is_overload)
    assert (inf, 2000) == (load("", own).store, load("", own).capacity)


def test_members_that_an_autoscaler_never_runs_have_no_capacity():
    """Listed members beyond max_replicas wait for those that stop."""
    scaled = 'autoscaler = { kind = "keda", lag_threshold = 100, max_replicas = 3 }'
    spare = "".join(f'\n[[group.member]]\nname = "billing-{n}"\nstart = "by act"' for n in range(6))
    (found,) = loads_of(
        emulator.loads(GROUP.format(table="", own=scaled + spare).replace("members = 2", ""))
    )

    assert (3, 3000) == (found.members, found.capacity)
