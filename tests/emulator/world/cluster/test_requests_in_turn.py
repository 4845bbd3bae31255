"""The requests of a connection to a coordinator, which reads one at a time."""

from itertools import pairwise

import pytest

import emulator
from assignors.types import Subscription
from emulator.tracing import trace
from emulator.world.network import Party
from protocols.messages import (
    Envelope,
    Header,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Protocol,
    coordinator_node,
)

from .cluster_bench import LATENCY, REPLICATION, SECOND, T0, Bench

COORDINATOR = coordinator_node(1)


class Caller:
    """A process with one connection to the coordinator."""

    def __init__(self, bench, index):
        self.name, self.index = f"caller-{index}", index
        self.party = Party(self.name, "clients")
        self.bench, self.sent, self.answers = bench, 0, {}

    def ask(self, request):
        """Send a request; return its number, under which its answer is found."""
        self.sent += 1
        envelope = Envelope(Header(self.name, self.sent), request)
        self.bench.world.router.ask(self, COORDINATOR, envelope)
        return self.sent

    def join(self, member=""):
        protocol = Protocol("range", Subscription(topics=("t",)))
        more = {"session_timeout_ms": 6_000, "rebalance_timeout_ms": 60_000}
        return self.ask(
            JoinGroupRequest(group_id="g", member_id=member, protocols=(protocol,), **more)
        )

    def commit(self, offset, **who):
        return self.ask(
            OffsetCommitRequest(group_id="g", offsets=(OffsetToCommit(T0, offset),), **who)
        )

    def fetch(self):
        return self.ask(OffsetFetchRequest(group_id="g", partitions=(T0,)))

    def leave(self, member):
        return self.ask(LeaveGroupRequest(group_id="g", members=(LeavingMember(member),)))

    def close(self):
        self.bench.world.router.connections.close(self, 1)

    def end(self):
        self.bench.world.router.forget(self)

    def receive(self, envelope):
        self.answers[envelope.header.correlation_id] = (envelope.body, self.bench.now)


@pytest.fixture
def bench():
    return Bench()


def parked(bench):
    """Park the JoinGroup of a second member; return it, its member id, and the other's."""
    first, second = bench.new_id(), bench.new_id()
    bench.join(first)
    bench.settle()
    bench.sync(first, 1, first)
    bench.settle()
    caller = Caller(bench, 7)
    caller.join(second)
    bench.settle()
    assert {} == caller.answers
    return caller, second, first


def test_requests_behind_a_parked_join_are_read_when_it_is_answered(bench):
    """In the order in which they were sent; another process's requests do not wait."""
    caller, member, first = parked(bench)
    commit = caller.commit(5, member_id=member, generation_id=1)
    fetch = caller.fetch()
    bench.settle()
    assert {} == caller.answers
    other = Caller(bench, 8)
    other.fetch()
    bench.settle()
    assert [1] == list(other.answers)

    bench.join(first)
    bench.settle()

    assert [1, commit, fetch] == list(caller.answers)
    assert "ILLEGAL_GENERATION" == caller.answers[commit][0].errors[0][1].name
    assert -1 == bench.committed()


def test_a_commit_is_appended_when_the_one_before_it_is_replicated(bench):
    """It was in the broker's socket meanwhile."""
    caller, begin_us = Caller(bench, 7), bench.now
    for offset in (1, 2, 3):
        caller.commit(offset)
    bench.wait(LATENCY + REPLICATION // 2)
    assert 1 == bench.committed()
    bench.settle()

    answered = [at_us for _, at_us in caller.answers.values()]
    assert [begin_us + 2 * LATENCY + turn * REPLICATION for turn in (1, 2, 3)] == answered
    assert 3 == bench.committed()


def test_nothing_waits_when_all_is_answered(bench):
    """A wait ends with the last answer; the next request is read at once."""
    caller = Caller(bench, 7)
    for offset in (1, 2):
        caller.commit(offset)
    bench.settle()
    begin_us = bench.now
    fetch = caller.fetch()
    bench.settle()

    assert begin_us + 2 * LATENCY == caller.answers[fetch][1]


def test_a_leave_behind_a_parked_join_is_read_though_its_process_has_ended(bench):
    """It was in the socket before the end of the connection, which an answer meets."""
    caller, member, first = parked(bench)
    caller.leave(member)
    caller.commit(5)
    bench.wait(LATENCY)
    caller.end()
    bench.settle()
    assert ("PREPARING_REBALANCE", 1, tuple(sorted((first, member)))) == bench.group_state()

    bench.join(first)
    bench.settle()

    assert (first,) == bench.group_state()[2]
    assert -1 == bench.committed(), "the connection had ended"


def test_a_request_after_a_closed_connection_goes_over_a_new_one(bench):
    """It does not wait for the JoinGroup of the old one; that one's next request is read."""
    caller, _, first = parked(bench)
    for offset in (5, 6):
        caller.commit(offset)
    bench.wait(LATENCY)
    caller.close()
    fetch = caller.fetch()
    bench.settle()
    assert [fetch] == list(caller.answers)

    bench.join(first)
    bench.settle()

    assert {1, 2, fetch} == caller.answers.keys()


def test_a_broker_that_dies_reads_nothing_more(bench):
    """Not after its restart either."""
    caller, member, _ = parked(bench)
    caller.leave(member)
    bench.wait(LATENCY)
    bench.brokers.crash(1, 0)
    bench.settle()
    bench.wait(20 * SECOND)
    bench.brokers.restart(1, 0)
    bench.settle()

    assert {1} >= {number for number in caller.answers if number > 0}
    assert bench.world.router.connections.waiting() == []


def test_a_broker_that_is_paused_reads_on_in_order(bench):
    """What waits stays behind what was answered before it."""
    caller = Caller(bench, 7)
    for offset in (1, 2, 3):
        caller.commit(offset)
    bench.wait(LATENCY + REPLICATION // 2)
    bench.brokers.pause(1, 0)
    fetch = caller.fetch()
    bench.settle()
    assert {} == caller.answers
    bench.brokers.resume(1, 0)
    bench.settle()

    assert [1, 2, 3, fetch] == list(caller.answers)
    assert 3 == bench.committed()


JOINING = """
title = "members that commit while they join"
run_for = "45s"
cluster = {{ replication = "3ms" }}
network = {{ latency = {{ uniform = ["200us", "9ms"] }} }}
topic = [{{ name = "t", partitions = 6, rate = "{rate}" }}]

[[group]]
id = "g"
topics = ["t"]
client = "{client}"
commit = "sync per record"
work = "{work}"
settings = {{ "auto.offset.reset" = "earliest", "partition.assignment.strategy" = "{strategy}" }}
member = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "c", start = "15s" }}, {{ name = "d", start = "16s" }}]

[[fault]]
pause = "b"
at = "14s"
for = "6s"
"""

JOINS = ("JoinGroup", "SyncGroup")
RECORDS = {"rate": "5/s", "work": "60ms"}
PLAIN = ("Metadata", "FindCoordinator", "ListOffsets", "OffsetsForLeaderEpoch")


def requests_over_connections(seen, *, joins_apart):
    """Return the group requests of each connection in their order, each with its answer's time."""
    answered = {each.request: each.sent_us for each in seen.messages if not each.is_request}
    found = {}
    for each in seen.messages:
        if each.is_request and each.kind not in PLAIN:
            key = (each.sender, joins_apart and each.kind in JOINS)
            found.setdefault(key, []).append((each.arrives_us, answered.get(each.request), each))
    return found.values()


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    ("client", "strategy"),
    [
        ("java", "cooperative-sticky"),
        ("java", "range"),
        ("librdkafka", "cooperative-sticky"),
        ("aiokafka", "roundrobin"),
        ("kafka-python", "range"),
        ("franz-go", "cooperative-sticky"),
    ],
)
def test_the_requests_of_a_connection_are_answered_in_turn(client, strategy):
    """franz-go has a connection for JoinGroup and SyncGroup; its heartbeats and commits pass them."""
    apart = client == "franz-go"
    seen = trace(emulator.loads(JOINING.format(client=client, strategy=strategy, **RECORDS)))
    for requests in requests_over_connections(seen, joins_apart=apart):
        answers = [at_us for _, at_us, _ in requests if at_us is not None]
        assert answers == sorted(answers)


@pytest.mark.parametrize(
    ("client", "strategy", "records"),
    [
        ("librdkafka", "cooperative-sticky", RECORDS),
        ("franz-go", "cooperative-sticky", RECORDS),
        ("aiokafka", "roundrobin", {"rate": "1/s", "work": "600ms"}),
    ],
)
def test_a_commit_of_a_joining_member_waits_for_its_join(client, strategy, records):
    """Members keep partitions (librdkafka), or have a record in hand (aiokafka); franz-go has two connections."""
    seen = trace(emulator.loads(JOINING.format(client=client, strategy=strategy, **records)))
    late = [
        (at_us, before)
        for requests in requests_over_connections(seen, joins_apart=client == "franz-go")
        for (_, before, _), (arrived, at_us, each) in pairwise(requests)
        if each.kind == "OffsetCommit" and None not in (before, at_us) and arrived < before - SECOND
    ]

    assert bool(late) == (client != "franz-go")
    assert all(at_us == before for at_us, before in late), "it is refused when it is read"
