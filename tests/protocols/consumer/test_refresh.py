"""Responses to requests for metadata that a client may count instead of handling each."""

from __future__ import annotations

import pytest

from protocols.consumer.refresh import brings_nothing
from protocols.messages import MetadataResponse

from .classic.driver import member


@pytest.mark.parametrize("follows", [True, False])
def test_a_response_brings_nothing_only_if_every_position_has_its_leader(follows, monkeypatch):
    """A client that has yet to apply what it knows handles the response."""
    driver = member()
    consumer, known = driver.client.consumer, driver.state.metadata
    monkeypatch.setattr(type(consumer.positions), "follows", lambda _, leaders: follows)
    response = MetadataResponse(brokers=known.brokers, topics=tuple(known.topics.values()))

    brings = brings_nothing(driver.state, consumer, response, lambda state, _: state)

    assert follows is brings
