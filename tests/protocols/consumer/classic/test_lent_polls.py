"""A poller that polls in the place of a calm client: when there is one, and when the client goes on by itself."""

from __future__ import annotations

import pytest

from protocols.consumer import metadata
from protocols.consumer.classic.calm import CalmPoll
from protocols.consumer.reader import NEVER
from protocols.machine import Send
from protocols.messages import FetchedRecords, FetchRequest, FetchResponse, HeartbeatRequest

from .driver import BROKER, ClientDriver, manual_member, parts


def calm_member() -> tuple[ClientDriver, int, CalmPoll]:
    """Return a member outside poll, when it has a duty (us), and the poller that replaces it."""
    driver = manual_member()
    driver.poll()
    due_us, calm = driver.client.calm(driver.now_us)
    return driver, due_us, calm


def test_no_client_is_replaced_in_poll_or_while_it_gives_partitions_up():
    """Nor while the connection to a broker is broken."""
    driver, *_ = calm_member()
    fetcher = driver.client.consumer.fetcher
    for disturb, rest in ((parts(0), frozenset()), ((), frozenset())):
        fetcher.pending = frozenset(disturb)
        assert (driver.client.calm(driver.now_us) is None) is bool(disturb)
        fetcher.pending = rest
    driver.poll(100)

    assert driver.client.calm(driver.now_us) is None


def test_a_member_that_awaits_a_round_is_replaced_until_it_has_to_ask_for_metadata():
    """It reads the partitions that it keeps, and sends no heartbeat."""
    driver = manual_member(assignors=("cooperative-sticky",), metadata_max_age_ms=60_000)
    driver.learn()
    driver.poll()
    due_us = metadata.due_us(driver.state.metadata, driver.client.consumer)
    found_us, _ = driver.client.calm(due_us - 1)

    assert found_us == due_us
    assert driver.client.calm(due_us) is None


def test_a_poller_outside_poll_goes_on_when_the_client_has_handled_something():
    """Unless the client has to join again."""
    driver, due_us, calm = calm_member()
    assert driver.client.lent(calm, driver.now_us) == due_us
    assert calm.wait_us == NEVER

    driver.learn()
    assert driver.client.lent(calm, driver.now_us) is None


def test_a_poller_in_poll_goes_on_until_the_client_has_a_duty():
    """The client must be in that poll, too (``resume``)."""
    driver, due_us, calm = calm_member()
    assert calm.poll(driver.now_us, due_us + 1_000_000) is None
    assert driver.client.lent(calm, driver.now_us) is None

    driver.client.resume(calm)
    assert driver.client.lent(calm, due_us) is None
    assert driver.client.lent(calm, due_us - 1) == due_us == calm.wait_us
    assert driver.client.calm(driver.now_us) is not None


def test_a_poller_reads_what_arrives_in_the_instant_of_its_poll_and_returns_at_its_timeout():
    """A poll without time to wait returns nothing if there is nothing."""
    driver, _, calm = calm_member()
    assert calm.poll(driver.now_us, 0) == ()

    given = FetchedRecords(parts(0)[0], 0, 4)
    calm.answered(driver.now_us, FetchResponse(BROKER, (given,)))
    handed = calm.poll(driver.now_us, 0)
    assert handed is not None
    assert [(0, 4)] == [part[1:] for part in handed]


@pytest.mark.parametrize("has_records", [True, False])
def test_a_poll_that_begins_with_a_duty_reads_no_response_before_it_returns_records(has_records):
    """Without records it reads what has arrived."""
    driver, _, calm = calm_member()
    driver.advance_until(HeartbeatRequest)
    assert driver.pending(FetchRequest)
    driver.beaten()
    if has_records:
        given = FetchedRecords(parts(0)[0], 0, 4)
        calm.answered(driver.now_us, FetchResponse(BROKER, (given,)))
    calm.enter(driver.now_us, 1_000_000)
    driver.client.enter(calm, driver.now_us)

    assert has_records is bool(driver.state.inbox)


def test_only_a_calm_client_sends_a_heartbeat_beside_its_poller():
    """One that has to join again has more to do."""
    driver, due_us, _ = calm_member()
    step = driver.client.beat(due_us)
    assert step is not None
    assert [HeartbeatRequest] == [type(e.message) for e in step.effects if type(e) is Send]

    driver.learn()
    assert driver.client.beat(driver.now_us) is None
