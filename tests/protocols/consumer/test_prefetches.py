"""Fetches of aiokafka: when a broker is asked again."""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.consumer.prefetches import PrefetchFetcher
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch

NEW_US = 100_000


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def reading(*brokers: int) -> PrefetchFetcher:
    """A fetcher of one partition of each of these brokers, at offset 0, that has asked all of them."""
    fetcher = PrefetchFetcher(rest_ms=100)
    leaders = {tp(number): LeaderAndEpoch(broker, -1) for number, broker in enumerate(brokers)}
    fetcher.positions.update_leaders(leaders)
    fetcher.assign(leaders)
    for each in leaders:
        fetcher.positions.seek(each, 0)
    fetcher.requests(0)
    return fetcher


def asked(fetcher: PrefetchFetcher, now: int) -> dict[int, list[int]]:
    """Return the partitions that are asked for, by broker."""
    return {
        broker: [part.partition.partition for part in request.partitions]
        for broker, request in fetcher.requests(now)
    }


def arrive(fetcher: PrefetchFetcher, broker: int, number: int, end: int) -> None:
    fetcher.arrived(FetchResponse(broker, (FetchedRecords(tp(number), 0, end),)))


def test_a_broker_rests_while_its_records_are_new():
    """Another partition of it is asked for 100 ms later."""
    fetcher = reading(1, 1)
    arrive(fetcher, 1, 0, 5)

    assert {} == asked(fetcher, 1_000)
    assert 1_000 + NEW_US == fetcher.next_ready_us(1_000)
    assert {} == asked(fetcher, NEW_US)
    assert {1: [1]} == asked(fetcher, 1_000 + NEW_US)


def test_records_of_one_broker_hold_back_no_other():
    fetcher = reading(1, 2)
    arrive(fetcher, 1, 0, 5)
    fetcher.arrived(FetchResponse(2, ()))

    assert {2: [1]} == asked(fetcher, 1_000)


def test_a_partition_is_asked_for_when_a_call_finds_it_empty():
    """``getone`` does so behind the work on the last record (``next_record``)."""
    fetcher = reading(1)
    arrive(fetcher, 1, 0, 1)
    fetcher.collect(1)
    assert {} == asked(fetcher, 2 * NEW_US)

    assert () == fetcher.collect(1)
    assert {1: [0]} == asked(fetcher, 2 * NEW_US)


def test_a_call_that_takes_all_asks_at_once():
    """``getmany`` without a limit."""
    fetcher = reading(1)
    arrive(fetcher, 1, 0, 5)
    fetcher.collect(1_000)

    assert {1: [0]} == asked(fetcher, 1_000)


def test_a_broker_is_not_asked_while_a_position_of_it_is_reset():
    fetcher = reading(1, 1, 2)
    fetcher.arrived(FetchResponse(1, ()))
    fetcher.arrived(FetchResponse(2, ()))
    fetcher.positions.reset(tp(0))

    assert {2: [2]} == asked(fetcher, 1_000)
