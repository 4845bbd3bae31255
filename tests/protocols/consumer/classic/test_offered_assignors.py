"""The assignors that a client offers with each JoinGroup where it does not offer all at once."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.background import BackgroundClient
from protocols.consumer.clients import profile_of
from protocols.messages import JoinGroupRequest, SyncGroupRequest
from protocols.messages.errors import ErrorCode as E
from protocols.values import replace

from .driver import ClientDriver


@pytest.mark.parametrize("error", [E.NONE, E.REBALANCE_IN_PROGRESS, E.UNKNOWN_MEMBER_ID])
def test_aiokafka_offers_one_assignor_more_whatever_the_response_says(error):
    """Only a member id is asked for again with the same assignors (``perform_group_join``)."""
    driver = ClientDriver(assignors=("range", "roundrobin"))
    consumer = replace(driver.client.consumer, profile=profile_of("aiokafka"))
    driver.client = BackgroundClient(consumer, 500)  # type: ignore[assignment]  # the same calls
    driver.poll_until(JoinGroupRequest)
    driver.join_error(E.MEMBER_ID_REQUIRED, "m-7")
    driver.poll_until(JoinGroupRequest)
    if error is E.NONE:
        driver.joined()
    else:
        driver.join_error(error)
    joins = [sent.message for sent in driver.ever(JoinGroupRequest)]
    offered = [[each.name for each in join.protocols] for join in joins]
    assert [["range"], ["range"], ["range", "roundrobin"]] == offered
    assert "m-7" == driver.one(JoinGroupRequest).member_id
    assert not driver.ever(SyncGroupRequest)

    driver.joined(generation=2)
    assert 2 == driver.one(SyncGroupRequest).generation_id
