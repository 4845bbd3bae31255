"""The lookup of the coordinator: when it is repeated, and its back-offs."""

from __future__ import annotations

import itertools

from protocols.consumer.lookup import Unknown
from protocols.messages import FindCoordinatorRequest, FindCoordinatorResponse, coordinator_node
from protocols.messages.errors import ErrorCode

from .driver import BROKER, Beat, ClientDriver


def test_the_coordinator_that_was_found_gets_the_first_heartbeat():
    """One lookup is enough."""
    driver = ClientDriver()
    driver.coordinator = 2
    driver.poll(1_000)

    assert 1 == len(driver.ever(FindCoordinatorRequest))
    assert coordinator_node(2) == driver.pending(Beat)[0].node


def test_failed_lookups_back_off_exponentially_up_to_the_maximum():
    """After 100 ms the pause doubles with each failure, and never passes a second."""
    driver = ClientDriver()
    driver.coordinator = None
    driver.poll(10_000)
    driver.advance(6_000)
    times = [sent.at_us for sent in driver.history if type(sent.message) is FindCoordinatorRequest]
    pauses = [round((b - a) / 1_000) for a, b in itertools.pairwise(times)]

    assert [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000] == pauses


def test_a_lookup_without_a_response_is_repeated_after_its_timeout_and_a_back_off():
    """Until then it is the only one in flight."""
    driver = ClientDriver(request_timeout_ms=2_000)
    driver.deaf = {FindCoordinatorRequest}
    driver.poll(10_000)
    driver.advance(2_099)
    assert 1 == len(driver.ever(FindCoordinatorRequest))
    driver.advance(101)

    assert 2 == len(driver.ever(FindCoordinatorRequest))


def test_the_answer_to_a_lookup_that_was_given_up_is_not_taken():
    """Another one is in flight, or the coordinator is known."""
    driver = ClientDriver(request_timeout_ms=2_000)
    driver.deaf = {FindCoordinatorRequest}
    driver.poll(10_000)
    driver.advance(2_200)
    first, second = driver.pending(FindCoordinatorRequest)
    driver.respond(first, FindCoordinatorResponse(node_id=2))
    assert isinstance(driver.state.coordinator, Unknown)

    driver.respond(second, FindCoordinatorResponse(node_id=BROKER))
    driver.respond(first, FindCoordinatorResponse(node_id=2))
    assert BROKER == driver.state.coordinator.broker


def test_lookups_back_off_after_a_success_too():
    """Otherwise metadata that are behind would be asked in a loop."""
    driver = ClientDriver()
    driver.stable()
    driver.beat_due()
    driver.refused(ErrorCode.NOT_COORDINATOR)
    assert 1 == len(driver.ever(FindCoordinatorRequest))
    driver.refused(ErrorCode.NOT_COORDINATOR)
    driver.advance(99)
    assert 1 == len(driver.ever(FindCoordinatorRequest))
    driver.advance(1)

    assert 2 == len(driver.ever(FindCoordinatorRequest))
