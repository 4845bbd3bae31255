"""A classic client between two polls that is moved by whole periods: what moves, and which client can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocols.consumer.classic.periods import moves_requests
from protocols.consumer.classic.phases import Calling, CommittingSync, Outside, Resume
from protocols.consumer.classic.state import Api
from protocols.consumer.requests import Renumbered
from protocols.facts import CommitKind
from protocols.messages import Envelope, Header, HeartbeatRequest, HeartbeatResponse
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import ClientDriver, offsets, parts
from .driver import member as committing_member

E = ErrorCode
LATER_US = 7_000_000
RECORDS = {parts(0)[0]: 11, parts(1)[0]: 0}
WAITS = CommittingSync(offsets({0: 1}), CommitKind.SYNC, 9, Outside(), correlation_id=1)


def unread(driver: ClientDriver) -> None:
    """Let responses to a heartbeat and a fetch arrive while the application works."""
    driver.advance_until(HeartbeatRequest)
    driver.beaten()
    driver.records({0: 3})


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize(
    "before",
    [
        lambda driver: None,
        lambda driver: driver.poll(1_000),
        lambda driver: driver.commit_async({0: 3}),
        lambda driver: driver.commit_sync({0: 3}),
        lambda driver: driver.advance_until(HeartbeatRequest),
        unread,
    ],
    ids=["outside", "in poll", "a commit", "commitSync", "a heartbeat", "unread responses"],
)
def test_a_client_that_was_moved_goes_on_as_before(
    before: Callable[[ClientDriver], Any], automatic: bool
):
    """Relative to its time and its positions nothing has changed; the clock of no commits stands."""
    driver = committing_member(enable_auto_commit=automatic, heartbeat_interval_ms=1_000)
    driver.poll()
    before(driver)
    client, state, now = driver.client, driver.state, driver.now_us
    assert client.is_at_rest
    relative = client.relative(now)
    client.move(
        LATER_US, RECORDS, Renumbered(5, {number: number + 5 for number in state.in_flight})
    )

    assert relative == client.relative(now + LATER_US)
    assert client.state.beat.due_us == state.beat.due_us + LATER_US
    assert client.state.autocommit_us == state.autocommit_us + LATER_US * automatic
    assert client.state.reads.next_correlation_id == state.reads.next_correlation_id + 5
    assert client.consumer.positions.valid() == {parts(0)[0]: 11, parts(1)[0]: 0}
    timer_us = state.request_timer_us
    assert client.state.request_timer_us == (None if timer_us is None else timer_us + LATER_US)
    if isinstance(state.app, CommittingSync):
        assert client.state.app.deadline_us == state.app.deadline_us + LATER_US
    assert {n + 5: flight.commit for n, flight in state.in_flight.items()} == {
        n: tuple(each._replace(offset=each.offset - 11) for each in flight.commit)
        for n, flight in client.state.in_flight.items()
    }


def _flight(driver: ClientDriver, api: Api) -> dict[str, Any]:
    (flight,) = driver.state.in_flight.values()
    return {"in_flight": {1: flight._replace(api=api)}}


@pytest.mark.parametrize(
    ("changed", "moves"),
    [
        (lambda d: {}, True),
        (lambda d: {"beat": None}, True),
        (lambda d: {"beat": replace(d.state.beat, notices_us=1)}, False),
        (lambda d: {"callbacks": ((None, 1, E.NONE),)}, True),
        (lambda d: {"callbacks": ((None, 1, E.NOT_COORDINATOR),)}, False),
        (lambda d: {"inbox": (Envelope(Header("c", 99), HeartbeatResponse()),)}, False),
        (lambda d: _flight(d, Api.HEARTBEAT), True),
        (lambda d: _flight(d, Api.COMMIT), True),
        (lambda d: _flight(d, Api.JOIN), False),
        (lambda d: {"app": WAITS}, True),
        (lambda d: {"app": replace(WAITS, attempt=1)}, False),
        (lambda d: {"app": replace(WAITS, correlation_id=None)}, False),
        (lambda d: {"app": replace(WAITS, outer=Calling(Resume.JOIN, None))}, False),
        (lambda d: {"app": Calling(Resume.JOIN, None)}, False),
    ],
)
def test_only_heartbeats_and_first_commits_move_with_whole_periods(
    changed: Callable[[ClientDriver], dict[str, Any]], moves: bool
):
    """An error, a retry, a call of the listener or the news of a removal come at their own time."""
    driver = committing_member(enable_auto_commit=False)
    driver.commit_async({0: 3})

    assert moves is moves_requests(replace(driver.state, **changed(driver)))
