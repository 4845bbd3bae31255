"""Clients that work in the background: what goes on beside a call of the application that waits."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import Closed, Failed
from protocols.consumer.classic import async_commits
from protocols.consumer.classic.background import BackgroundClient
from protocols.consumer.classic.commits import is_illegal
from protocols.consumer.classic.state import (
    Api,
    ClientState,
    Consumer,
    InFlight,
    Membership,
)
from protocols.consumer.clients import profile_of
from protocols.consumer.fetching import Fetcher
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.facts import CommitKind
from protocols.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetsForLeaderEpochRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets, parts

E = ErrorCode


def background(name: str, **settings: object) -> ClientDriver:
    """Return the driver of a client that works in the background."""
    driver = ClientDriver(**settings)
    fetcher = Fetcher(errors_in_order=False)
    consumer = replace(driver.client.consumer, profile=profile_of(name), fetcher=fetcher)
    driver.client = BackgroundClient(consumer, 500)  # type: ignore[assignment]  # the same calls
    return driver


def test_records_are_fetched_while_commit_sync_waits():
    """The application gets them at its next poll; Java's client fetches in poll only."""
    driver = background("aiokafka", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.poll(1_000)
    assert driver.pending(FetchRequest)

    driver.advance(1_000)
    assert driver.commit_sync({0: 5}) is None
    before = len(driver.ever(FetchRequest))
    driver.records({0: 0})

    assert driver.pending(OffsetCommitRequest)
    assert len(driver.ever(FetchRequest)) == before + 1


@pytest.mark.parametrize("end", ["close", "unsubscribe"])
@pytest.mark.parametrize(("client", "calls"), [("aiokafka", []), ("librdkafka", ["revoked"])])
def test_whether_the_end_of_a_membership_calls_the_listener(client: str, calls: list, end: str):
    """``AIOKafkaConsumer.stop`` calls nothing, as a captured run shows."""
    driver = background(client, enable_auto_commit=False)
    driver.stable({0: 0})
    driver.calls.clear()
    getattr(driver, end)()

    assert calls == [listener for listener, _ in driver.calls]


@pytest.mark.parametrize(("name", "times"), [("librdkafka", 0), ("aiokafka", 5)])
def test_an_interval_of_zero_commits_in_each_millisecond_or_never(name: str, times: int):
    """The client of librdkafka starts no timer (``rd_kafka_cgrp_new``), aiokafka does not wait."""
    driver = background(name, auto_commit_interval_ms=0)
    driver.stable({0: 7})
    driver.hand({0: 1})
    driver.advance(10)
    before = len(driver.ever(OffsetCommitRequest))
    for _ in range(5):
        if driver.pending(OffsetCommitRequest):
            driver.committed()
        driver.advance(1)

    assert times == len(driver.ever(OffsetCommitRequest)) - before


@pytest.mark.parametrize("name", ["librdkafka", "aiokafka", "franz-go"])
def test_the_automatic_commit_is_sent_when_its_interval_is_over(name: str):
    """Its timer sends it, without a poll."""
    driver = background(name, enable_auto_commit=True)
    driver.stable({0: 0})
    driver.poll()
    driver.records({0: 5})
    driver.poll()
    driver.poll()
    due_us = driver.state.autocommit_us
    driver.advance((due_us - driver.now_us) / 1_000)

    assert [due_us] == [sent.at_us for sent in driver.ever(OffsetCommitRequest)]


def test_a_poll_throws_for_a_position_out_of_range_that_nothing_resets():
    """So do ``getone`` and ``getmany`` of aiokafka (``OffsetOutOfRangeError``)."""
    driver = background("aiokafka", enable_auto_commit=False, auto_offset_reset="none")
    driver.stable({0: 5})
    driver.records({0: 0}, error=E.OFFSET_OUT_OF_RANGE)
    thrown = driver.poll()

    assert (Failed, "OffsetOutOfRangeException") == (type(thrown), thrown.exception)


@pytest.mark.parametrize("name", ["aiokafka", "franz-go"])
def test_what_ends_a_join_is_thrown_by_the_next_poll(name: str):
    """The application was elsewhere; its other calls return as usual."""
    driver = background(name, enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.returned.clear()
    driver.join_error(E.INCONSISTENT_GROUP_PROTOCOL)
    assert [] == driver.returned

    assert E.INCONSISTENT_GROUP_PROTOCOL is driver.poll().error
    driver.close()
    driver.answer(LeaveGroupRequest, LeaveGroupResponse())
    assert Closed() == driver.returned[-1]


@pytest.mark.parametrize("call", ["commit_sync", "commit_async"])
def test_franz_go_holds_a_commit_until_it_has_joined(call: str):
    """``noCommitDuringJoinAndSync``: the commit carries the new generation."""
    driver = background("franz-go", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    assert driver.pending(JoinGroupRequest)

    getattr(driver, call)({0: 5})
    assert not driver.pending(OffsetCommitRequest)
    driver.joined(2)
    assert not driver.pending(OffsetCommitRequest)
    driver.synced(0)

    assert [2] == [sent.message.generation_id for sent in driver.ever(OffsetCommitRequest)]


def test_commits_that_franz_go_holds_keep_their_order():
    """Also beside a lookup that ends before the join does."""
    driver = background("franz-go", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.commit_async({0: 5})
    driver.commit_async({0: 7})
    driver.joined(2)
    driver.synced(0)

    sent = [each.message.offsets[0].offset for each in driver.ever(OffsetCommitRequest)]
    assert [5, 7] == sent


@pytest.mark.parametrize(("name", "commits"), [("franz-go", [2]), ("librdkafka", [])])
def test_the_tick_of_franz_go_in_a_join_commits_at_its_end(name: str, commits: list[int]):
    """``loopCommit`` waits for the lock that the join has; the timer of librdkafka passes over it."""
    driver = background(
        name,
        assignors=("cooperative-sticky",),
        enable_auto_commit=True,
        auto_commit_interval_ms=5_000,
    )
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    if driver.pending(OffsetCommitRequest):
        driver.committed()
    driver.poll()
    driver.records({0: 5})
    driver.poll()
    driver.poll()
    before = len(driver.ever(OffsetCommitRequest))
    driver.advance(driver.state.autocommit_us / 1_000 - driver.now_us / 1_000 + 100)
    assert before == len(driver.ever(OffsetCommitRequest))
    driver.joined(2)
    driver.synced(0)

    generations = [each.message.generation_id for each in driver.ever(OffsetCommitRequest)]
    assert commits == generations[before:]


@pytest.mark.parametrize(
    ("client", "assignor", "waits_ms"),
    [
        ("franz-go", "cooperative-sticky", range(500, 601)),
        ("franz-go", "range", range(2_900, 3_101)),
    ],
)
def test_franz_go_learns_soon_of_the_rebalance_that_follows(client, assignor, waits_ms):
    """``cooperativeFastCheck``: the first heartbeat of a cooperative session, and only that one."""
    driver = background(client, assignors=(assignor,), enable_auto_commit=False)
    driver.stable({0: 0})

    assert round(driver.advance_until(HeartbeatRequest)) in waits_ms
    driver.beaten()
    assert 2_900 <= driver.advance_until(HeartbeatRequest) <= 3_100


@pytest.mark.parametrize(("assignor", "begins"), [("range", False), ("cooperative-sticky", True)])
def test_positions_are_reset_until_the_rebalance_has_begun(assignor: str, begins: bool):
    """With an eager assignor it begins with the callback, in a poll; nothing is looked up until its end."""
    driver = background("librdkafka", assignors=(assignor,), enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.client.consumer.positions.reset(*parts(0))
    driver.advance(10_000)

    assert begins is bool(driver.pending(JoinGroupRequest))
    assert begins is not bool(driver.pending(ListOffsetsRequest))


def test_franz_go_returns_records_while_it_joins_and_sends_no_heartbeat():
    """Cooperative members keep their partitions; the pending JoinGroup is their sign of life."""
    driver = background("franz-go", assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    assert driver.pending(JoinGroupRequest)
    driver.records({0: 7})
    driver.poll()
    driver.advance(20_000)

    assert [(0, 7)] == [(part.first, part.next_offset) for part in driver.batches()[-1]]
    assert driver.pending(JoinGroupRequest)
    assert not driver.pending(HeartbeatRequest)


@pytest.mark.parametrize(
    ("error", "commits"), [(E.REBALANCE_IN_PROGRESS, 1), (E.UNKNOWN_MEMBER_ID, 0)]
)
def test_librdkafka_commits_after_the_revoke_listener_unless_it_has_lost_its_membership(
    error, commits
):
    """``rd_kafka_assignment_serve_removals``; the commit of a lost member would be refused."""
    driver = background("librdkafka")
    driver.stable({0: 0})
    driver.hand({0: 5})
    driver.poll()
    driver.calls.clear()
    driver.advance_until(HeartbeatRequest)
    driver.beaten(error)
    driver.poll()

    assert commits == len(driver.pending(OffsetCommitRequest))
    assert commits == 1 - len(driver.pending(JoinGroupRequest))
    assert ["lost" if error is E.UNKNOWN_MEMBER_ID else "revoked"] == [
        what for what, _ in driver.calls
    ]


def test_librdkafka_commits_what_it_gives_away_though_it_is_committed():
    """``rd_kafka_assignment_serve_removals`` takes the stored offsets as they are."""
    store = OffsetStore(Stores(at_hand_over=True, at_next_poll=False, only_forward=True))
    driver = background("librdkafka")
    driver.client.consumer = replace(driver.client.consumer, store=store)
    driver.stable({0: 0})
    store.store(offsets({0: 5}), driver.client.consumer.positions)
    driver.advance_until(OffsetCommitRequest)
    driver.committed()
    store.committed(offsets({0: 5}))
    assert not driver.pending(OffsetCommitRequest)
    if not driver.pending(HeartbeatRequest):
        driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert [5, 5] == [
        entry.offset for sent in driver.ever(OffsetCommitRequest) for entry in sent.message.offsets
    ]


REPEATED = {"java": False, "kafka-python": False, "aiokafka": True, "librdkafka": False}


@pytest.mark.parametrize("name", REPEATED)
def test_aiokafka_repeats_automatic_commits_that_the_coordinator_refused(name):
    """After the back-off, not after the interval (``_is_commit_retriable``)."""
    driver = ClientDriver()
    driver.stable({0: 0})
    consumer: Consumer = replace(driver.client.consumer, profile=profile_of(name))
    state: ClientState = driver.state
    flight = InFlight(Api.COMMIT, 1, 0, state.generation, (), CommitKind.AUTO)
    ended = replace(state, callbacks=((flight, 7, E.UNKNOWN_MEMBER_ID),))

    after = async_commits.run_callbacks(ended, consumer, driver.now_us).state

    assert (after.autocommit_us == driver.now_us + 100_000) == REPEATED[name]


def test_the_repeated_commit_of_aiokafka_is_sent_when_the_back_off_is_over():
    """The application does nothing meanwhile."""
    driver = background("aiokafka")
    driver.stable({0: 7})
    driver.hand({0: 5})
    driver.poll()
    driver.advance_until(OffsetCommitRequest)
    driver.committed(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(99)
    assert not driver.pending(OffsetCommitRequest)

    driver.advance(1)
    assert driver.pending(OffsetCommitRequest)


@pytest.mark.parametrize(
    ("client", "partition", "change", "illegal"),
    [
        ("aiokafka", 1, {}, True),
        ("aiokafka", 0, {}, False),
        ("aiokafka", 1, {"membership": Membership.PREPARING_REBALANCE}, False),
        ("aiokafka", 1, {"future": object()}, False),
        ("librdkafka", 1, {}, False),
    ],
)
def test_aiokafka_refuses_offsets_of_partitions_that_a_stable_member_does_not_read(
    client, partition, change, illegal
):
    """``IllegalStateError`` of ``consumer.commit``; while it joins, the coordinator decides."""
    driver = background(client, enable_auto_commit=False)
    driver.stable({0: 0})
    state = replace(driver.client.state, **change)

    assert illegal is is_illegal(state, driver.client.consumer, offsets({partition: 3}))


def test_no_position_is_looked_up_behind_a_join_that_failed():
    """The member has prepared the rebalance: it reads nothing until its end, also between two joins."""
    driver = background("franz-go", assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.join(0, 1)
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.fetched({0: 0, 1: 0}, error=E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(500)
    asked = len(driver.ever(OffsetFetchRequest))
    driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)

    assert asked == len(driver.ever(OffsetFetchRequest))


@pytest.mark.parametrize(("name", "validates"), [("aiokafka", False), ("librdkafka", True)])
def test_whether_a_client_validates_the_position_of_its_committed_offset(
    name: str, validates: bool
):
    """Aiokafka knows no leader epochs (``FetchRequest.build``)."""
    driver = background(name, enable_auto_commit=False)
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 0)
    driver.join(0)
    driver.fetched({0: 5}, epoch=0)
    driver.advance(100)
    driver.poll()

    assert validates is bool(driver.ever(OffsetsForLeaderEpochRequest))
    if not validates:
        assert -1 == driver.one(FetchRequest).partitions[0].current_leader_epoch


def test_librdkafka_joins_again_by_itself_once_its_listener_was_called():
    """Only the call has to wait for a poll."""
    driver = background("librdkafka", enable_auto_commit=False)
    driver.stable({0: 0})
    driver.advance_until(HeartbeatRequest)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.advance(500)
    assert not driver.pending(JoinGroupRequest)

    driver.poll()
    driver.join_error(E.COORDINATOR_LOAD_IN_PROGRESS)
    driver.advance(5_000)
    assert driver.pending(JoinGroupRequest)


@pytest.mark.parametrize(("client", "joins"), [("librdkafka", 0), ("aiokafka", 1)])
def test_a_commit_that_a_rebalance_refuses_makes_no_librdkafka_join(client: str, joins: int):
    """``rd_kafka_cgrp_op_handle_OffsetCommit`` leaves that to the next heartbeat."""
    driver = background(client, assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable({0: 0})
    driver.commit_async({0: 3})
    driver.committed(E.REBALANCE_IN_PROGRESS)

    assert joins == len(driver.pending(JoinGroupRequest))
