"""The commits and reads of a process at an offset store outside Kafka, as events and as responses."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.events import CommitAnswered, CommitSent, OffsetsRead, OffsetsStored
from emulator.world.consumer.interfaces import ConsumerProcess
from protocols.messages import Envelope, FetchedOffset, Header, OffsetFetchResponse

Offsets = tuple[tuple[TopicPartition, int], ...]


def begin_commit(
    process: ConsumerProcess, commit: str, kind: str, offsets: Offsets, processed: tuple[int, ...]
) -> CommitSent:
    """Write that a process sends a commit, and return the event.

    *commit*: its id within the process; *processed*: what is finished of each partition.
    """
    sent = CommitSent(
        consumer=process.blueprint.name,
        group=process.blueprint.group.id,
        generation=-1,
        commit=f"{process.name}#{commit}",
        kind=kind,
        offsets=offsets,
        processed=processed,
    )
    process.run.recorder.write_data(sent)
    return sent


def stored(store: str, sent: CommitSent, sent_us: int, waited_us: int) -> OffsetsStored:
    """Return the event of a commit that a store has taken after a wait in its queue."""
    return OffsetsStored(
        consumer=sent.consumer,
        group=sent.group,
        commit=sent.commit,
        store=store,
        offsets=sent.offsets,
        sent_us=sent_us,
        waited_us=waited_us,
    )


def write_answer(
    process: ConsumerProcess, commit: OffsetsStored, error: str, cause: int | None
) -> None:
    """Write that a process has the answer to a commit; *cause*: of an error."""
    answered = CommitAnswered(
        consumer=commit.consumer, group=commit.group, commit=commit.commit, error=error
    )
    if error == "NONE":
        process.run.recorder.write_data(answered)
    else:
        process.run.recorder.write(answered, cause)


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
