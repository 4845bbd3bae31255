"""What a broker answers a fetch with: records of each partition, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.cluster.partitions.shown_log import bytes_in, offset_after
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch
from protocols.messages.errors import ErrorCode

if TYPE_CHECKING:
    from assignors.types import TopicPartition
    from emulator.world.cluster.partitions.shown_log import ShownLog
    from emulator.world.cluster.replicas import ReplicaSet
    from emulator.world.consumer.polling.fetch_in_flight import FetchInFlight, Want


def answer_to(fetch: FetchInFlight) -> FetchResponse:
    """Return the answer to a fetch, as of when the broker gave it; the session moves past it."""
    settings = fetch.process.blueprint.settings
    room = settings.fetch_max_bytes
    found: list[FetchedRecords] = []
    for want in list(fetch.wants.cached.values()):
        if want.when_us > fetch.ready_us:
            continue
        answer = _read(want, fetch, room, first=not found)
        if not answer.error and answer.first == answer.next_offset:
            continue
        found.append(answer)
        if not answer.error:
            assert want.log is not None
            room -= bytes_in(want.log, answer.first, answer.next_offset)
            fetch.wants.answered(want.partition)
        if room <= 0:
            break
    return FetchResponse(fetch.broker, tuple(found))


def _read(want: Want, fetch: FetchInFlight, room: int, *, first: bool) -> FetchedRecords:
    """Return the answer of one partition."""
    log = want.log
    if log is None:
        return _error(want.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refusal = log.replicas.refusal(fetch.broker, want.epoch)
    if refusal:
        return _refused(want.partition, log.replicas, fetch.broker, refusal)
    if not log.start <= want.offset <= log.end(fetch.ready_us):
        return _error(want.partition, ErrorCode.OFFSET_OUT_OF_RANGE, want.offset)
    most = fetch.process.blueprint.settings.max_partition_fetch_bytes
    most = max(min(most, room) // log.record_size, 1 if first else 0)
    end = min(log.high_watermark(fetch.ready_us), offset_after(log, want.offset, most))
    end = max(end, want.offset)
    gaps, want.answered = log.delivered, end
    last_ms = _last_ms(log, end, fetch) if end > want.offset else None
    return FetchedRecords(
        want.partition, want.offset, end, epochs=log.epochs, gaps=gaps, last_ms=last_ms
    )


def _last_ms(log: ShownLog, end: int, fetch: FetchInFlight) -> int | None:
    """Return the timestamp of the last record before *end*, if the client remembers it."""
    blueprint = fetch.process.blueprint
    if not blueprint.profile.resets_to_last_read:
        return None
    return blueprint.epoch_ms + log.last_appended_at(end) // 1_000


def _refused(
    partition: TopicPartition, replicas: ReplicaSet, broker: int, error: ErrorCode
) -> FetchedRecords:
    """Return a refusal with the leader that the broker knows of (KIP-951)."""
    current = LeaderAndEpoch(replicas.leader_known_to(broker), replicas.epoch_known_to(broker))
    return FetchedRecords(partition, -1, -1, error, current_leader=current)


def _error(partition: TopicPartition, error: ErrorCode, asked: int = -1) -> FetchedRecords:
    return FetchedRecords(partition, asked, asked, error)
