"""What a crash and a hand-over cost by client (docs/reference/clients.md)."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import CommitRefused, ListenerCalled, RebalanceStarted
from emulator.metrics.laws import Severity
from emulator.scenario.load import loads
from protocols.consumer.clients import CLIENTS

SCENARIO = """
title = "a member crashes with work in hand"
run_for = "60s"
topic = [{{ name = "orders", partitions = 2, rate = "0.2/s", backlog = 60 }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "500ms"
{keys}

[group.settings]
"auto.offset.reset" = "earliest"
"auto.commit.interval.ms" = 1900
{settings}

[[fault]]
crash = "g-0"
at = "{at}"
"""


def played(keys: str, settings: str = '"session.timeout.ms" = 6000', at: str = "20.95s"):
    """Return the run of a group whose first member crashes."""
    text = SCENARIO.format(keys=keys, settings=settings, at=at)
    run = emulator.run(loads(text, "a test"), seed=1)
    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    return run


def costs(run) -> tuple[int, int]:
    """Return how many records were reprocessed and lost."""
    return run.metrics["reprocessed"], run.metrics["lost"]


CONSUME = 'client = "librdkafka"\nread_with = "consume"\nread_records = 10'
POLL_RECORDS = 'client = "franz-go"\nread_with = "PollRecords"\nread_records = 10'
GREEDY = '"session.timeout.ms" = 6000\nGreedyAutoCommit = true'

COSTS = {
    'client = "java"': ((29, 0), (32, 0)),
    'client = "kafka-python"': ((29, 0), (32, 0)),
    'client = "librdkafka"': ((0, 1), (2, 0)),
    CONSUME: ((0, 1), (2, 0)),
    f'{CONSUME}\ncommit = "store per record"': ((0, 0), (3, 0)),
    'client = "aiokafka"': ((2, 0), (1, 0)),
    'client = "aiokafka"\nread_with = "getmany"': ((0, 33), (0, 30)),
    POLL_RECORDS: ((9, 0), (12, 0)),
    f'{POLL_RECORDS}\ncommit = "store per record"': ((0, 0), (3, 0)),
}
"""By keys of the group: records reprocessed and lost by a crash at 20.95 s, while the record is in
hand that a commit at 20.9 s has covered, and at 22.4 s, long after that commit."""


@pytest.mark.parametrize("keys", COSTS)
def test_a_crash_costs_what_the_client_has_not_committed_or_has_committed_ahead(keys):
    """Of the batch in hand: repeated if commits come after it, lost if they come at hand-over."""
    assert (costs(played(keys)), costs(played(keys, at="22.4s"))) == COSTS[keys]


def test_the_clock_of_aiokafka_counts_from_each_commit():
    """Its first commit is due when the member joins; here one has just covered the record in hand."""
    assert costs(played('client = "aiokafka"', at="19.35s")) == (0, 1)


def test_a_greedy_client_loses_its_batch():
    """``GreedyAutoCommit`` covers the records of the latest poll, too."""
    assert costs(played(POLL_RECORDS, GREEDY)) == (0, 1)


def test_a_rebalance_beside_the_work_repeats_nothing():
    """The client gives partitions away while their records are being worked on: all are committed."""
    text = SCENARIO.format(keys='client = "aiokafka"\nread_with = "getmany"', settings="", at="1s")
    run = emulator.run(loads(text.replace('crash = "g-0"', 'close = "g-0"'), "a test"), seed=1)

    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    assert costs(run) == (0, 0)


def test_members_of_one_group_may_have_different_clients():
    """They agree on the assignor that all have."""
    keys = '[[group.member]]\nname = "g-1"\nclient = "librdkafka"\n'

    assert costs(played(keys, '"session.timeout.ms" = 6000', at="22.4s")) == (32, 0)


def _group(keys: str) -> str:
    head = SCENARIO.partition("work =")[0].replace("{{", "{").replace("}}", "}")
    return f'{head}work = "1ms"\n{keys}\n'


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_commits_only_what_is_taken_away_with_an_interval_of_0(protocol):
    """0 turns its timer off (``rd_kafka_cgrp_new``); the Java consumer commits in every poll."""
    keys = f"""client = "librdkafka"
settings."group.protocol" = "{protocol}"
settings."auto.commit.interval.ms" = 0
settings."auto.offset.reset" = "earliest"

[[fault]]
close = "g-0"
at = "20s"
"""
    run = emulator.run(loads(_group(keys), "a test"), seed=1)

    assert 2 == run.metrics["commits_accepted"]
    assert (0, 0) == costs(run)


HAND_OVER = """
title = "a member joins a cooperative group under load"
run_for = "22s"
topic = [{{ name = "orders", partitions = 3, rate = "50/s" }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "8ms"
{keys}

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "cooperative-sticky"

[[group.member]]
name = "g-2"
start = "by act"

[[act]]
start = "g-2"
at = "12.3s"
"""


HAND_OVERS = {
    'client = "java"': range(12, 500),
    'client = "kafka-python"': range(1),
    CONSUME: range(1),
    POLL_RECORDS: range(11),
}
"""Records reprocessed: Java commits before it joins only, and returns records until its partitions
are taken away; franz-go commits then, too, but not the batch in hand."""


@pytest.mark.parametrize("keys", HAND_OVERS)
def test_a_cooperative_hand_over_repeats_what_no_commit_covers(keys):
    """kafka-python returns nothing while it joins, librdkafka commits what it gives away."""
    run = emulator.run(loads(HAND_OVER.format(keys=keys), "a test"), seed=1)

    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    assert run.metrics["reprocessed"] in HAND_OVERS[keys]
    assert run.metrics["lost"] == 0


DRAINED = """client = "librdkafka"
handler = { workers = 1, order = "partition", drain = "all" }
commit = "store\""""


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_offsets_that_a_listener_stores_are_committed_behind_it(strategy):
    """The listener drains its worker and stores; librdkafka commits when it unassigns."""
    text = HAND_OVER.format(keys=DRAINED).replace("cooperative-sticky", strategy)
    run = emulator.run(loads(text, "a test"), seed=1)

    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    assert (run.metrics["reprocessed"], run.metrics["lost"]) == (0, 0)


NEXT = """
title = "librdkafka with group.protocol=consumer"
run_for = "45s"
topic = [{{ name = "orders", partitions = 2, rate = "0.2/s", backlog = 30 }}]

[cluster.settings]
"group.consumer.min.session.timeout.ms" = 6000
"group.consumer.session.timeout.ms" = 6000
"group.consumer.min.heartbeat.interval.ms" = 1000
"group.consumer.heartbeat.interval.ms" = 1000

[[group]]
id = "g"
topics = ["orders"]
members = 2
client = "librdkafka"
work = "500ms"
{keys}

[group.settings]
"group.protocol" = "consumer"
"auto.offset.reset" = "earliest"
"auto.commit.interval.ms" = 1900

[[fault]]
{fault}
"""
CRASH = 'crash = "g-0"\nat = "11.45s"'
NEXT_COSTS = {
    ("", CRASH): (0, 1),
    ("", 'crash = "g-0"\nat = "13.15s"'): (3, 0),
    ('commit = "store per record"', CRASH): (0, 0),
    ('commit = "store per record"', 'crash = "g-0"\nat = "13.15s"'): (4, 0),
    ('commit = "sync per record"', CRASH): (0, 0),
    ("", 'close = "g-0"\nat = "11.45s"'): (0, 0),
    ("", 'pause = "g-0"\nat = "11.45s"\nfor = "8s"'): (1, 0),
}
"""A commit at 11.4 s covers the record in hand; the next is due at 13.3 s."""


@pytest.mark.parametrize(("keys", "fault"), NEXT_COSTS)
def test_librdkafka_commits_what_it_handed_out_in_the_consumer_protocol_too(keys, fault):
    """Its timer counts from its creation; a crash costs the same in both protocols."""
    run = emulator.run(loads(NEXT.format(keys=keys, fault=fault), "a test"), seed=1)

    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    assert costs(run) == NEXT_COSTS[keys, fault]


JOINED = """
title = "a member joins while the others have batches in hand"
run_for = "30s"
topic = [{{ name = "orders", partitions = 3, backlog = 20 }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "200ms"
{keys}

[group.settings]
"auto.offset.reset" = "earliest"
{settings}

[[group.member]]
name = "g-2"
start = "by act"

[[act]]
start = "g-2"
at = "11.2s"
"""
EAGER = 'Balancers = ["RangeBalancer"]'
GETMANY = 'client = "aiokafka"\nread_with = "getmany"\ncommit = "sync per record"'


def joined(keys: str, settings: str = ""):
    """Return the run of a group that a member joins."""
    run = emulator.run(loads(JOINED.format(keys=keys, settings=settings), "a test"), seed=1)
    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    return run


def test_franz_go_gives_partitions_away_beside_the_work_unless_polls_block_it():
    """``BlockRebalanceOnPoll``: the batch in hand is finished and committed first."""
    assert costs(joined(POLL_RECORDS, EAGER))[0] > 0
    assert costs(joined(POLL_RECORDS, f"{EAGER}\nBlockRebalanceOnPoll = true")) == (0, 0)


def refusals(run) -> set[tuple[str, str]]:
    """Return by whom commits were refused, and why."""
    found = [e.what for e in run.events if isinstance(e.what, CommitRefused)]
    return {(each.by, each.error) for each in found}


def test_aiokafka_refuses_commits_of_partitions_that_are_not_assigned():
    """Its batch in hand goes on after a rebalance; ``commit`` raises IllegalStateError."""
    assert ("client", "INVALID_REQUEST") in refusals(joined(GETMANY))


BESIDE_JAVA = f"""{GETMANY}
[[group.member]]
name = "g-1"
client = "java"
work = "600ms"
settings = {{ "partition.assignment.strategy" = "roundrobin" }}
"""


def test_a_commit_in_a_rebalance_is_sent_by_aiokafka():
    """Java's client would refuse it. The broker reads it behind the JoinGroup in front of it, too late."""
    found = refusals(joined(BESIDE_JAVA))

    assert ("client", "REBALANCE_IN_PROGRESS") not in found
    assert ("coordinator", "ILLEGAL_GENERATION") in found


CUT = """
title = "a member without a network"
run_for = "60s"
topic = [{{ name = "t", partitions = 2, rate = "5/s" }}]
group = [{{ id = "g", topics = ["t"], client = "{client}", members = 2 }}]
fault = [{{ cut = ["g-1", "brokers"], at = "23s", for = "30s" }}]
"""


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_hears_nothing_waits(client):
    """Whatever it sends again and again, it lets time pass in between."""
    run = emulator.run(emulator.loads(CUT.format(client=client)), keep_events=False)

    assert run.ledger.lost == 0


SEVERAL = """
title = "several assignors"
run_for = "10s"
topic = [{{ name = "t", partitions = 4, rate = "5/s" }}]

[[group]]
id = "g"
topics = ["t"]
members = ["g-0", {{ name = "g-1", start = "6s" }}]
client = "{client}"
work = "5ms"
settings = {{ "partition.assignment.strategy" = "{strategy}" }}
"""


@pytest.mark.parametrize(
    ("client", "strategy", "rounds"),
    [
        ("aiokafka", "range", 1),
        ("aiokafka", "range, roundrobin", 2),
        ("aiokafka", "range, roundrobin, sticky", 3),
        ("kafka-python", "range, roundrobin", 1),
    ],
)
def test_aiokafka_joins_once_for_each_of_its_assignors(client, strategy, rounds):
    """``perform_group_join`` sends a JoinGroup in each turn of its loop over them, then one SyncGroup."""
    run = emulator.run(loads(SEVERAL.format(client=client, strategy=strategy), "a test"), seed=0)
    started = [e for e in run.events if type(e.what) is RebalanceStarted and e.at_us > 5_900_000]
    assigned = [
        e.what.generation
        for e in run.events
        if type(e.what) is ListenerCalled and e.what.call == "assigned"
    ]

    assert rounds == len(started)
    assert {rounds, 2 * rounds} == set(assigned)
