"""What any broker answers about where to read: taken by whoever waits for it, else dropped."""

from __future__ import annotations

from protocols.consumer import metadata, starts, validation
from protocols.consumer.reader import Reader, Reads
from protocols.machine import Step
from protocols.messages import (
    ListOffsetsResponse,
    MetadataResponse,
    OffsetsForLeaderEpochResponse,
)

ReadingAnswer = MetadataResponse | ListOffsetsResponse | OffsetsForLeaderEpochResponse


def answered(
    reads: Reads, reader: Reader, number: int, answer: ReadingAnswer, now: int
) -> Step[Reads]:
    """Take the answer to request *number*, if it is still waited for."""
    match answer:
        case MetadataResponse() if reads.metadata.in_flight == number:
            return metadata.received(reads, reader, answer, now)
        case ListOffsetsResponse() if number in reads.listing:
            return starts.listed(reads, reader, number, answer, now)
        case OffsetsForLeaderEpochResponse() if number in reads.validating:
            return validation.answered(reads, reader, number, answer, now)
        case _:
            return Step(reads)
