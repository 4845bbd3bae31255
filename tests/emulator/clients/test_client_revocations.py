"""What clients do when partitions are taken away: the commit, its listener, and what a member keeps."""

from __future__ import annotations

import itertools

import pytest

import emulator
from emulator.commit_facts import commit_kinds, describe_commits
from emulator.events import CommitSent, Event, ListenerCalled
from emulator.report.subject import Commits
from emulator.scenario.load import loads

REVOKING = """
title = "librdkafka takes partitions away"
run_for = "45s"
cluster.brokers = 3
topic = [{{ name = "orders", partitions = 4, rate = "5/s" }}, {{ name = "clicks", partitions = 2, rate = "5/s" }}]

[[group]]
id = "g"
topics = ["orders", "clicks"]
members = ["g-0", {{ name = "g-1", start = "{start}" }}]
client = "librdkafka"
work = "5ms"

[group.settings]
"partition.assignment.strategy" = "{strategy}"
"auto.offset.reset" = "earliest"
"session.timeout.ms" = "20s"

{act}
"""


def revoking(start: str, strategy: str, act: str) -> list[Event]:
    text = REVOKING.format(start=start, strategy=strategy, act=act)
    return list(emulator.run(loads(text, "a test"), seed=0).events)


def test_a_commit_after_the_listener_is_sent_again_without_another_call():
    """The coordinator crashes while it is under way; the back-off lies between two commits."""
    crash = '[[fault]]\ncrash_broker = "coordinator of g"\nwhen = "g-0 revoked"'
    events = [e for e in revoking("15s", "range", crash) if getattr(e.what, "generation", 0) == 1]
    calls = [e.what for e in events if isinstance(e.what, ListenerCalled)]
    commits = [e for e in events if isinstance(e.what, CommitSent) and e.what.kind == "prepare"]
    sent = [e.at_us for e in commits if e.what.consumer == "g-0"]

    assert 1 == sum(call.call == "revoked" and call.consumer == "g-0" for call in calls)
    assert len(sent) > 1
    assert all(later - earlier >= 100_000 for earlier, later in itertools.pairwise(sent))


def test_a_cooperative_member_that_drops_a_topic_keeps_the_others():
    """What it keeps is not assigned again (``rd_kafka_cgrp_rebalance``, incremental)."""
    act = '[[act]]\nsubscribe = "g"\ntopics = ["orders"]\nat = "20s"'
    events = [e for e in revoking("0s", "cooperative-sticky", act) if e.at_us > 20_000_000]
    calls = [e.what for e in events if isinstance(e.what, ListenerCalled)]

    assert {"clicks"} == {tp.topic for call in calls for tp in call.partitions}


CALLBACK = """
title = "a callback of the application"
run_for = "30s"
topic = [{{ name = "t", partitions = 4, rate = "20/s" }}]

[[group]]
id = "g"
topics = ["t"]
members = 2
client = "franz-go"
read_with = "PollRecords"
read_records = 20
work = "5ms"
commit = {{ call = "auto", on_revoke = {commits} }}
settings = {{ "Balancers" = "{balancer}", "OnPartitionsRevoked" = {callback} }}

[[act]]
rolling_restart = "g"
at = "14s"
down_time = "2s"
gap = "4s"
"""


def reprocessed(balancer: str, *, callback: bool, commits: bool) -> int:
    values = {"callback": str(callback).lower(), "commits": str(commits).lower()}
    text = CALLBACK.format(balancer=balancer, **values)
    return emulator.run(loads(text, "a test"), seed=0, keep_events=False).ledger.reprocessed


@pytest.mark.parametrize("balancer", ["RangeBalancer", "CooperativeStickyBalancer"])
def test_a_callback_of_the_application_replaces_the_commit_of_franz_go(balancer):
    """It is registered in place of ``defaultRevoke``, which commits, also when the member leaves."""
    without = reprocessed(balancer, callback=False, commits=False)
    silent = reprocessed(balancer, callback=True, commits=False)
    commits = reprocessed(balancer, callback=True, commits=True)

    assert max(without, commits) <= 20
    assert silent > 60


@pytest.mark.parametrize(
    ("commit", "is_lost"),
    [
        ('{ call = "auto" }', True),
        ('{ call = "store" }', True),
        ('{ call = "auto", on_revoke = true }', False),
        ('{ call = "sync" }', False),
    ],
)
def test_reports_name_a_callback_where_it_costs_an_automatic_commit(commit, is_lost):
    """Without automatic commits there was none to replace."""
    plain = CALLBACK.format(balancer="RangeBalancer", callback="true", commits="false")
    text = plain.replace('{ call = "auto", on_revoke = false }', commit)
    (group,) = loads(text, "a test").group
    said = describe_commits(group, group.members[0])

    assert is_lost is said.endswith(", none at revocations")
    assert is_lost is (Commits.NONE_AT_REVOCATION in commit_kinds(group, group.members[0]))
