"""Partitions of a client with a queue for each of them: when they rest."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assignors.types import TopicPartition
from protocols.consumer.queued_fetches import QueuedFetcher, Rests
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch
from protocols.messages.errors import ErrorCode

MS = 1_000


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def reading(
    *, full: int = 4, error_ms: int = 500, queue_ms: int = 1_000, frees_at_limit: bool = False
) -> QueuedFetcher:
    """A fetcher of partitions 0 and 1 at offset 0, of the same broker."""
    rests = Rests(error_ms, queue_ms)
    fetcher = QueuedFetcher(full, rests, takes_hints=True, frees_at_limit=frees_at_limit)
    fetcher.positions.update_leaders({tp(n): LeaderAndEpoch(1, 0) for n in range(2)})
    fetcher.assign([tp(0), tp(1)])
    for number in range(2):
        fetcher.positions.seek(tp(number), 0)
    return fetcher


def asked(fetcher: QueuedFetcher, now_ms: int) -> list[int]:
    """Which partitions are asked for at this time."""
    found = fetcher.requests(now_ms * MS)
    return [part.partition.partition for _, request in found for part in request.partitions]


def arrive(fetcher: QueuedFetcher, number: int, first: int, end: int) -> None:
    fetcher.arrived(FetchResponse(1, (FetchedRecords(tp(number), first, end),)))


def test_a_full_queue_rests_for_a_second_however_soon_it_is_emptied():
    """``fetch.queue.backoff.ms`` begins when the queue is found full (``rd_kafka_toppar_fetch_decide``)."""
    fetcher = reading()
    fetcher.requests(0)
    arrive(fetcher, 0, 0, 4)
    assert [1] == asked(fetcher, 10)
    fetcher.collect(10)
    arrive(fetcher, 1, 0, 1)

    assert [1] == asked(fetcher, 20)
    arrive(fetcher, 1, 1, 2)
    assert 1_010 * MS == fetcher.next_ready_us(1_009 * MS)
    assert [1] == asked(fetcher, 1_009)
    arrive(fetcher, 1, 2, 3)
    assert [1, 0] == asked(fetcher, 1_010)


def test_a_queue_that_is_still_full_rests_again():
    """It is looked at when the rest ends."""
    fetcher = reading()
    fetcher.requests(0)
    arrive(fetcher, 0, 0, 4)
    asked(fetcher, 10)
    arrive(fetcher, 1, 0, 1)

    assert [1] == asked(fetcher, 1_010)
    assert 2_010 * MS == fetcher.next_ready_us(1_010 * MS)


def test_a_queue_fills_while_a_fetch_of_its_broker_is_in_flight():
    """All partitions are looked at in each step, and rest from then on."""
    fetcher = reading()
    fetcher.requests(0)
    arrive(fetcher, 0, 0, 4)
    asked(fetcher, 10)
    asked(fetcher, 700)
    fetcher.collect(10)
    arrive(fetcher, 1, 0, 1)

    assert [1, 0] == asked(fetcher, 1_010)


@pytest.mark.parametrize(("place", "begins"), [(None, 2), (0, 2), (1, 1), (9, 9)])
def test_a_fetch_begins_behind_what_is_queued_at_the_position(place: int | None, begins: int):
    """After a seek, what was queued for another position is not counted."""
    fetcher = reading()
    fetcher.requests(0)
    arrive(fetcher, 0, 0, 2)
    if place is not None:
        fetcher.positions.seek(tp(0), place)
    ((_, request),) = fetcher.requests(10)

    assert {tp(0): begins, tp(1): 0} == {part.partition: part.offset for part in request.partitions}


def after_error(error_ms: int) -> QueuedFetcher:
    """A fetcher whose fetch of partition 0 has just failed."""
    fetcher = reading(error_ms=error_ms)
    fetcher.requests(0)
    refused = FetchedRecords(tp(0), -1, -1, ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert [refused] == fetcher.arrived(FetchResponse(1, (refused,)))
    return fetcher


def test_a_partition_rests_after_an_error_of_its_fetch():
    """``fetch.error.backoff.ms``; other partitions are asked for."""
    fetcher = after_error(500)
    assert [1] == asked(fetcher, 10)
    arrive(fetcher, 1, 0, 1)
    assert [1] == asked(fetcher, 509)
    arrive(fetcher, 1, 1, 2)

    assert {0, 1} == set(asked(fetcher, 510))
    assert {0, 1} == set(asked(after_error(0), 10))


def test_a_partition_that_begins_to_be_read_again_does_not_rest():
    """``rd_kafka_toppar_set_fetch_state``: an active partition has no back-off."""
    fetcher = reading()
    fetcher.requests(0)
    refused = FetchedRecords(tp(0), 0, 0, ErrorCode.OFFSET_OUT_OF_RANGE)
    fetcher.arrived(FetchResponse(1, (refused,)))
    fetcher.positions.reset(tp(0))
    assert [1] == asked(fetcher, 10)
    fetcher.positions.seek(tp(0), 7)
    arrive(fetcher, 1, 0, 1)

    assert {0, 1} == set(asked(fetcher, 20))


def test_rests_move_with_a_period():
    """They are part of what recurs, relative to the time."""
    fetcher = reading()
    fetcher.requests(0)
    arrive(fetcher, 0, 0, 4)
    asked(fetcher, 10)
    before = fetcher.relative(100 * MS)
    fetcher.move(5_000 * MS, {})

    assert before == fetcher.relative(5_100 * MS)
    assert 6_010 * MS == fetcher.next_ready_us(5_100 * MS)


def walked(fetcher: QueuedFetcher) -> dict[TopicPartition, tuple[int, int]]:
    """What is queued behind each position, part by part."""
    ends: dict[TopicPartition, tuple[int, int]] = {}
    for part in fetcher._buffer:
        end, records = ends.get(part.reading.partition, (part.reading.position, 0))
        if part.position == end:
            ends[part.reading.partition] = part.next_offset, records + part.count
    return {partition: queue for partition, queue in ends.items() if queue[1]}


STEPS = st.lists(
    st.tuples(st.sampled_from("aaasscjupv"), st.integers(0, 1), st.integers(0, 6)), max_size=40
)


@given(steps=STEPS, frees=st.booleans())
@example(steps=[("a", 0, 2), ("s", 0, 0), ("a", 1, 2), ("v", 0, 1), ("s", 0, 0)], frees=False)
@example(steps=[("a", 1, 2), ("u", 0, 0), ("u", 1, 0)], frees=False)
def test_queues_are_counted_as_if_part_by_part(steps: list[tuple[str, int, int]], *, frees: bool):
    """Whatever arrives, is returned, sought, paused, revoked or not read for a while."""
    fetcher = reading(frees_at_limit=frees)
    for step, number, size in steps:
        partition = tp(number)
        match step:
            case "a":
                reads = fetcher.positions.readings.get(partition)
                end, _ = walked(fetcher).get(partition, (reads.position if reads else 0, 0))
                arrive(fetcher, number, end + (size == 6), end + size + 1)
            case "s":
                fetcher.share(size + 1)
            case "c":
                fetcher.collect(size + 1)
            case "j":
                fetcher.positions.seek(partition, size)
            case "u":
                fetcher.assign([tp(0), tp(1)][: number + 1])
            case "p":
                fetcher.pause([partition][:size])
            case "v":
                fetcher.pending = frozenset([partition][:size])
        queued = {each: queue for each, queue in fetcher._queued_ends().items() if queue[1]}
        assert walked(fetcher) == queued


@pytest.mark.parametrize("frees", [True, False])
def test_a_long_queue_is_not_walked_for_each_record(monkeypatch, *, frees: bool):
    """Each part is counted once, when it arrives, however often it is asked how full the queue is."""
    counted = []
    count = QueuedFetcher._count

    def noting(fetcher, parts, positions):
        counted.extend(parts := list(parts))
        count(fetcher, parts, positions)

    monkeypatch.setattr(QueuedFetcher, "_count", noting)
    fetcher = reading(full=1_000, frees_at_limit=frees)
    for offset in range(300):
        arrive(fetcher, 0, offset, offset + 1)
        fetcher.requests(offset)
    for _ in range(300):
        fetcher.collect(1)
        fetcher.requests(300)

    assert 300 == len(counted)
