"""Advice for members without a common assignor."""

from __future__ import annotations

import pytest

import emulator
from emulator.report.proposals import Effect


@pytest.mark.long
def test_the_old_assignor_stays_in_the_list_of_the_first_restart():
    name = "p6-second-bounce-first"
    advice = emulator.advise(name, seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == "assignor-in-two-steps"]
    after = emulator.run(emulator.load(name, overrides=proposed.overrides), 0).metrics

    assert proposed.overrides == (
        'act[one].settings[partition.assignment.strategy]=["range", "cooperative-sticky"]',
    )
    assert advice.run.metrics["member_hours"] < 0.17
    assert after["member_hours"] > 0.19


MIXED = """
title = "three clients without a common assignor"
run_for = "15s"
topic = [{ name = "orders", partitions = 6, rate = "2/s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 3
work = "1ms"
member = [{ name = "billing-1", client = "franz-go" }, { name = "billing-2", client = "aiokafka" }]
settings = { "auto.offset.reset" = "earliest" }
"""


def test_members_of_several_clients_get_an_assignor_that_each_of_them_has():
    """By default no assignor is common to Java, franz-go and aiokafka."""
    (trial,) = emulator.advise(emulator.loads(MIXED), seeds=1).trials

    assert "common-assignor" == trial.proposal.id
    assert ("partition.assignment.strategy=sticky",) == trial.proposal.settings
    assert Effect.BETTER is trial.effect
    assert "billing-1 has cooperative-sticky and billing-2 has roundrobin" in trial.proposal.why


BEHIND = """
title = "behind"
run_for = "3min"

[[topic]]
name = "orders"
partitions = 4
rate = "40/s"

[[group]]
id = "billing"
topics = ["orders"]
client = "franz-go"
members = 2
work = "40ms"

[[fault]]
crash = "billing-0"
at = "60s"
restart_after = "5s"
"""


@pytest.mark.long
def test_commits_of_earlier_polls_ask_for_smaller_batches():
    """PollFetches hands out all that has arrived, and nothing of that is committed before the next poll."""
    advised = emulator.advise(emulator.loads(BEHIND), seeds=1)
    smaller = next(each for each in advised.trials if each.proposal.id == "smaller-batches")

    assert ("PollRecords of 100 records",) == smaller.proposal.settings
    assert ("group[billing].read_with=PollRecords", "group[billing].read_records=100") == (
        smaller.proposal.overrides
    )
    assert Effect.BETTER is smaller.effect
    assert not [hint for hint in advised.hints if hint.id == "commit-more-often"]


CALLBACK = """
title = "a callback that commits nothing"
run_for = "25s"
topic = [{ name = "orders", partitions = 4, rate = "20/s" }]
[[group]]
id = "billing"
topics = ["orders"]
client = "franz-go"
read_with = "PollRecords"
read_records = 20
members = 2
work = "5ms"
settings = { "Balancers" = "RangeBalancer", "OnPartitionsRevoked" = true }
[[act]]
close = "billing-0"
at = "14s"
restart_after = "2s"
"""


def test_a_callback_that_takes_the_place_of_a_commit_is_told_to_commit():
    """No commit comes before partitions are given away."""
    advised = emulator.advise(emulator.loads(CALLBACK), seeds=1)
    trial = next(each for each in advised.trials if each.proposal.id == "commit-on-revoke")

    assert ("CommitUncommittedOffsets in OnPartitionsRevoked",) == trial.proposal.settings
    assert "auto commit every 5s, none at revocations" in trial.proposal.why
    assert Effect.BETTER is trial.effect
