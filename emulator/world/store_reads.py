"""What a process reads from an offset store outside Kafka, as its client and the events have it."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.events import OffsetsRead
from emulator.world.consumer.interfaces import ConsumerProcess
from protocols.messages import Envelope, FetchedOffset, Header, OffsetFetchResponse

Offsets = tuple[tuple[TopicPartition, int], ...]


def write_read(process: ConsumerProcess, offsets: Offsets, asked_us: int) -> None:
    """Write that a process has read these offsets."""
    consumer, group = process.blueprint.name, process.blueprint.group.id
    read = OffsetsRead(consumer=consumer, group=group, offsets=offsets, asked_us=asked_us)
    process.run.recorder.write(read, process.run.causes.called.get(consumer))


def answer(process: ConsumerProcess, correlation_id: int, offsets: Offsets) -> None:
    """Answer the client of a process: it asks for committed offsets with an OffsetFetch."""
    fetched = tuple(FetchedOffset(tp, offset) for tp, offset in offsets)
    header = Header(process.name, correlation_id)
    process.receive(Envelope(header, OffsetFetchResponse(offsets=fetched)))
