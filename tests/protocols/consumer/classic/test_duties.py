"""Whether a turn of the poll loop has a duty: direct questions about states that a run meets rarely."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.consumer import metadata
from protocols.consumer.classic import duties
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.phases import (
    Calling,
    Joining,
    Outside,
    PrepareCommitting,
    PrepareDone,
    PrepareNeeded,
    Resume,
)
from protocols.consumer.classic.state import Membership
from protocols.consumer.clients import Busy, profile_of
from protocols.consumer.reader import NEVER
from protocols.consumer.requests import REQUESTS
from protocols.machine import SetTimer
from protocols.messages import Envelope, Header, HeartbeatResponse, OffsetCommitResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, manual_member, parts
from .test_background import background

E = ErrorCode
UNREAD = (Envelope(Header("c", 1), HeartbeatResponse()),)
ENDED = (("a commit that ended", 1, E.NONE),)
LISTENS = Calling(Resume.JOIN, None)


@pytest.mark.parametrize(
    ("changed", "has_records", "later_us", "is_due"),
    [
        ({}, False, -1, False),
        ({}, False, 0, True),
        ({"inbox": UNREAD}, False, -1, True),
        ({"inbox": UNREAD}, True, -1, False),
        ({"inbox": UNREAD}, True, 0, True),
        ({"callbacks": ENDED}, True, -1, True),
        ({}, True, -1, False),
    ],
)
def test_a_poll_has_a_duty_when_it_is_due_has_a_callback_or_reads_a_response(
    changed: dict[str, Any], has_records: bool, later_us: int, is_due: bool
):
    """It reads no response before it has returned the records that it holds."""
    driver = manual_member()
    driver.poll()
    if has_records:
        driver.poll(10)
        driver.client.consumer.fetcher.pause(parts(0, 1))
        driver.records({0: 4})
        driver.client.consumer.fetcher.pause(())
    state = replace(driver.state, **changed)
    due_us = duties.due_us(state, driver.client.consumer)

    assert is_due is duties.is_due(state, driver.client.consumer, due_us + later_us)


def joining() -> ClientDriver:
    """Return a cooperative member that reads its partitions while its JoinGroup waits."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable()
    driver.learn()
    driver.poll()
    return driver


def test_a_member_that_awaits_a_round_only_reads_if_each_position_may_be_read():
    """One that is not known, or has no leader, needs a turn."""
    driver = joining()
    consumer = driver.client.consumer
    assert duties.reads_on(driver.state, consumer)
    assert not duties.reads_on(replace(driver.state, assignment=()), consumer)

    consumer.positions.forget_leader(parts(0)[0])
    assert not duties.reads_on(driver.state, consumer)


def test_a_member_that_awaits_a_round_does_not_only_read_without_a_position():
    driver = joining()
    driver.client.consumer.positions.reset(parts(1)[0])

    assert not duties.reads_on(driver.state, driver.client.consumer)


def test_a_member_that_awaits_a_round_next_asks_for_metadata_unless_it_has_asked():
    """A response ends that wait."""
    driver = joining()
    state, consumer = driver.state, driver.client.consumer
    known = state.metadata
    asking = replace(state, reads=replace(state.reads, metadata=replace(known, in_flight=7)))

    assert duties.round_due_us(state, consumer) == metadata.due_us(known, consumer)
    assert duties.round_due_us(asking, consumer) == NEVER


@pytest.mark.parametrize("commits", [False, True])
def test_a_client_in_the_background_next_commits_or_asks_for_metadata(commits: bool):
    """It has something to do at once while it has a response, a commit to send, or an error to report."""
    driver = background("aiokafka", enable_auto_commit=commits)
    driver.stable({0: 0})
    state, consumer = replace(driver.state, inbox=(), autocommit_us=7), driver.client.consumer
    reads = state.reads
    asking = replace(reads, metadata=replace(reads.metadata, in_flight=7))
    failed = replace(reads, validation_failure=(parts(0)[0], 3))

    assert duties.settled(state, consumer)
    asks_us = metadata.due_us(state.metadata, consumer)
    assert (7 if commits else asks_us) == duties.background_due_us(state, consumer)
    waits_us = duties.background_due_us(replace(state, reads=asking), consumer)
    assert (7 if commits else NEVER) == waits_us
    at_once: tuple[dict[str, Any], ...] = (
        {"inbox": UNREAD},
        {"callbacks": ENDED},
        {"pending_commits": ("a commit",)},
        {"membership": Membership.UNJOINED},
        {"reads": failed},
    )
    assert {0} == {duties.background_due_us(replace(state, **each), consumer) for each in at_once}


@pytest.mark.parametrize(
    ("waits_for", "timer", "app", "until_us", "later"),
    [
        (Busy.LISTENER, HEARTBEAT, LISTENS, None, True),
        (Busy.LISTENER, REQUESTS, LISTENS, None, False),
        (Busy.LISTENER, HEARTBEAT, Outside(), None, False),
        (Busy.LISTENER, HEARTBEAT, Outside(), 1, False),
        (Busy.WORK, HEARTBEAT, Outside(), None, True),
        (Busy.WORK, HEARTBEAT, LISTENS, None, False),
        (Busy.FETCH, HEARTBEAT, Outside(), 1, True),
        (Busy.FETCH, HEARTBEAT, Outside(), None, False),
    ],
)
def test_only_heartbeats_wait_for_what_keeps_the_client_busy(
    waits_for: Busy, timer: str, app: Any, until_us: int | None, later: bool
):
    """Other timers go on; without a heartbeat thread there is none to wait."""
    driver = manual_member()
    profile = replace(driver.client.consumer.profile, heartbeats_wait_for=frozenset({waits_for}))
    consumer = replace(driver.client.consumer, profile=profile)
    state = replace(driver.state, app=app)

    assert later is duties.beats_later(state, consumer, timer, until_us)
    assert not duties.beats_later(replace(state, beat=None), consumer, timer, until_us)


@pytest.mark.parametrize(
    ("body", "changed", "in_poll", "waits"),
    [
        (HeartbeatResponse(error=E.REBALANCE_IN_PROGRESS), {}, True, True),
        (HeartbeatResponse(error=E.REBALANCE_IN_PROGRESS), {}, False, False),
        (HeartbeatResponse(error=E.REBALANCE_IN_PROGRESS), {"rejoin": "again"}, True, False),
        (HeartbeatResponse(), {}, True, False),
        (OffsetCommitResponse(errors=((parts(0)[0], E.NOT_COORDINATOR),)), {}, True, False),
    ],
)
def test_only_the_wait_of_a_settled_poll_goes_on_behind_a_refused_heartbeat(
    body: Any, changed: dict[str, Any], in_poll: bool, waits: bool
):
    """kafka-python looks at its group after the next fetch, or when a duty is due."""
    driver = manual_member()
    driver.poll()
    consumer = replace(driver.client.consumer, profile=profile_of("kafka-python"))
    state, now = replace(driver.state, **changed), driver.now_us
    until = now + 60_000_000 if in_poll else None
    timers = duties.waits_on(state, consumer, body, until, now)

    assert timers == ((SetTimer(POLL, duties.due_us(state, consumer)),) if waits else ())


@pytest.mark.parametrize(
    ("waits_for", "ends_early"), [(None, True), (Busy.LISTENER, True), (Busy.FETCH, False)]
)
def test_a_wait_of_poll_ends_for_a_heartbeat_unless_the_client_sends_none_there(
    waits_for: Busy | None, ends_early: bool
):
    """Only then there is nothing to do before the timeout of poll."""
    driver = manual_member()
    waits = frozenset() if waits_for is None else frozenset({waits_for})
    profile = replace(driver.client.consumer.profile, heartbeats_wait_for=waits)
    consumer = replace(driver.client.consumer, profile=profile)
    assert driver.state.beat is not None
    due_us = driver.state.beat.due_us

    assert duties.wait_until_us(driver.state, consumer, due_us - 1) == due_us - 1
    until = due_us if ends_early else due_us + 1
    assert duties.wait_until_us(driver.state, consumer, due_us + 1) == until


@pytest.mark.parametrize(
    ("client", "prepare", "future", "holds"),
    [
        ("kafka-python", PrepareNeeded(), None, False),
        ("kafka-python", PrepareCommitting(0, None), None, True),
        ("kafka-python", PrepareDone(), Joining(), True),
        ("kafka-python", PrepareNeeded(), Joining(), True),
        ("java", PrepareDone(), Joining(), False),
    ],
)
def test_kafka_python_returns_no_records_from_the_preparation_of_a_join_to_its_end(
    client: str, prepare: Any, future: Any, holds: bool
):
    """Java's poll returns what is buffered of partitions that are still owned."""
    driver = manual_member()
    consumer = replace(driver.client.consumer, profile=profile_of(client))
    state = replace(driver.state, prepare=prepare, future=future)

    assert holds is duties.holds_records(state, consumer)


def test_no_request_in_flight_has_a_number_that_was_not_given():
    """The check of a debug run notices it."""
    driver = manual_member()
    driver.commit_async({0: 1})
    ((_, flight),) = driver.state.in_flight.items()
    duties.check(driver.state, driver.client.consumer, is_in_poll=False)
    wrong = replace(driver.state, in_flight={driver.state.reads.next_correlation_id: flight})

    with pytest.raises(AssertionError):
        duties.check(wrong, driver.client.consumer, is_in_poll=False)
