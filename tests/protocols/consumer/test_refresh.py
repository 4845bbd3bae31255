"""Responses to requests for metadata that a client may count instead of handling each."""

from __future__ import annotations

import pytest

from protocols.consumer.refresh import brings_nothing, next_request
from protocols.messages import MetadataResponse
from protocols.values import replace

from .classic.driver import member
from .classic.test_background import background


@pytest.mark.parametrize("follows", [True, False])
def test_a_response_brings_nothing_only_if_every_position_has_its_leader(follows, monkeypatch):
    """A client that has yet to apply what it knows handles the response."""
    driver = member()
    consumer, known = driver.client.consumer, driver.state.metadata
    monkeypatch.setattr(type(consumer.positions), "follows", lambda _, leaders: follows)
    response = MetadataResponse(brokers=known.brokers, topics=tuple(known.topics.values()))

    brings = brings_nothing(driver.state, consumer, response, lambda state, _: state)

    assert follows is brings


@pytest.mark.parametrize("name", ["aiokafka", "librdkafka"])
def test_requests_of_a_client_in_the_background_are_alike_if_one_broker_answers_them(name: str):
    """A request to another broker may open a connection."""
    driver = background(name, enable_auto_commit=False, brokers=(1, 2))
    driver.stable()
    driver.poll()
    state, consumer = driver.state, driver.client.consumer
    found = next_request(state, consumer)
    assert found is not None
    other = replace(state.metadata, asked_broker=2)
    moved = replace(state, reads=replace(state.reads, metadata=other))

    assert (1, 300_000_000) == (found.node, found.age_us)
    assert next_request(moved, consumer) is None
