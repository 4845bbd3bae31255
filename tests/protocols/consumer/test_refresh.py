"""Responses to requests for metadata that a client may count instead of handling each."""

from __future__ import annotations

import pytest

from protocols.consumer.refresh import brings_nothing, next_request
from protocols.messages import FetchResponse, MetadataResponse

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


@pytest.mark.parametrize(
    ("name", "nodes"), [("java", (1,)), ("aiokafka", (1, 2)), ("librdkafka", (1,))]
)
def test_requests_are_alike_if_each_broker_that_may_be_asked_is_connected(name: str, nodes):
    """Another request opens a connection; aiokafka may ask any broker."""
    settings = {"enable_auto_commit": False, "brokers": (1, 2)}
    driver = member(**settings) if name == "java" else background(name, **settings)
    if name != "java":
        driver.stable()
    driver.poll()
    state, consumer = driver.state, driver.client.consumer
    for broker in (1, 2):
        consumer.fetcher.arrived(FetchResponse(broker, ()))
    consumer.fetcher.drop_silent(2)
    if name == "aiokafka":
        assert next_request(state, consumer) is None
        consumer.fetcher.connect(2)
    found = next_request(state, consumer)
    assert found is not None
    assert (nodes, 300_000_000) == (found.nodes, found.age_us)

    consumer.fetcher.disconnected(1)
    assert next_request(state, consumer) is None
