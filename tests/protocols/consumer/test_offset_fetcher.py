"""Answers of any broker are used by the request that waits for one, and by no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from protocols.consumer.offset_fetcher import on_response, partitions_without_offset
from protocols.consumer.reader import NOTHING_ASKED
from protocols.machine import Step
from protocols.messages import (
    FetchedOffset,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetFetchResponse,
    OffsetsForLeaderEpochResponse,
    TopicDescription,
)

from .kip848.bench import ClientBench

LATE = [
    MetadataResponse(brokers=(1,), topics=()),
    ListOffsetsResponse(offsets=()),
    OffsetsForLeaderEpochResponse(end_offsets=()),
]


@pytest.mark.parametrize("answer", LATE, ids=lambda answer: type(answer).__name__)
def test_an_unexpected_answer_changes_nothing(answer):
    """An expired request may still be answered."""
    reader = ClientBench().client.consumer

    assert Step(NOTHING_ASKED) == on_response(NOTHING_ASKED, reader, 3, answer, 0)


def test_metadata_that_were_asked_for_are_taken():
    """The copy is a new version, and the request is in flight no more."""
    reader = ClientBench().client.consumer
    asking = replace(NOTHING_ASKED, metadata=replace(NOTHING_ASKED.metadata, in_flight=3))
    topic = TopicDescription("t", "id-t", (1,))
    step = on_response(asking, reader, 3, MetadataResponse(brokers=(1,), topics=(topic,)), 0)

    assert {"t": topic} == step.state.metadata.topics
    assert 1 == step.state.metadata.version
    assert step.state.metadata.in_flight is None


def test_the_first_offset_of_a_log_is_a_committed_offset():
    """Only -1 shows that there is none."""
    reader = ClientBench().client.consumer
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    reader.positions.assign(partitions)
    found = tuple(map(FetchedOffset, partitions, (0, -1)))

    assert partitions[1:] == partitions_without_offset(reader, OffsetFetchResponse(offsets=found))
