"""Fetches of kafka-python: what its poll and its iterator ask for, and when."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.classic.machine import Client
from protocols.consumer.clients import profile_of
from protocols.consumer.drained_fetches import DrainedFetcher
from protocols.messages import FetchedRecords, FetchRequest, FetchResponse, LeaderAndEpoch
from protocols.values import replace

from .classic.driver import ClientDriver


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def reading(*brokers: int, rereads: bool = False) -> DrainedFetcher:
    """A fetcher of one partition of each of these brokers, at offset 0."""
    fetcher = DrainedFetcher(rereads=rereads)
    leaders = {tp(number): LeaderAndEpoch(broker, 0) for number, broker in enumerate(brokers)}
    fetcher.positions.update_leaders(leaders)
    fetcher.assign(leaders)
    for each in leaders:
        fetcher.positions.seek(each, 0)
    return fetcher


def asked(fetcher: DrainedFetcher) -> dict[int, list[tuple[int, int]]]:
    """Return the partitions and offsets that are asked for now, by broker."""
    return {
        broker: [(part.partition.partition, part.offset) for part in request.partitions]
        for broker, request in fetcher.requests()
    }


def arrive(fetcher: DrainedFetcher, broker: int, *parts: tuple[int, int, int]) -> None:
    found = tuple(FetchedRecords(tp(number), first, end) for number, first, end in parts)
    fetcher.arrived(FetchResponse(broker, found))


def test_no_broker_is_asked_while_a_response_waits_to_be_taken():
    """Java's client asks each broker of which it has no records (``fetch_records``: ``partial``)."""
    fetcher = reading(1, 1, 2)
    assert {1, 2} == asked(fetcher).keys()
    arrive(fetcher, 1, (0, 0, 3), (1, 0, 3))
    arrive(fetcher, 2)
    fetcher.collect(3)

    assert {} == asked(fetcher)


def test_the_broker_of_a_partition_that_is_being_read_is_asked_for_others():
    """Java's client does not ask it."""
    fetcher = reading(1, 1, 2)
    asked(fetcher)
    arrive(fetcher, 1, (0, 0, 3))
    arrive(fetcher, 2)
    fetcher.collect(2)

    assert {1: [(1, 0)], 2: [(2, 0)]} == asked(fetcher)


@pytest.mark.parametrize(("rereads", "offset"), [(True, 0), (False, 3)])
def test_the_iterator_asks_again_for_the_records_that_it_returns(rereads: bool, offset: int):
    """Its positions move with each record (``poll(update_offsets=False)``)."""
    fetcher = reading(1, rereads=rereads)
    asked(fetcher)
    arrive(fetcher, 1, (0, 0, 3))
    fetcher.collect(10)

    assert {1: [(0, offset)]} == asked(fetcher)


def test_the_response_to_that_fetch_is_dropped():
    """The next fetch asks for what follows."""
    fetcher = reading(1, rereads=True)
    asked(fetcher)
    arrive(fetcher, 1, (0, 0, 3))
    fetcher.collect(10)
    asked(fetcher)
    arrive(fetcher, 1, (0, 0, 5))

    assert () == fetcher.collect(10)
    assert {1: [(0, 3)]} == asked(fetcher)


@pytest.mark.parametrize(("name", "pending"), [("java", True), ("kafka-python", False)])
def test_whether_a_fetch_is_in_flight_while_the_application_works(name: str, pending: bool):
    """It is not behind records that ended the wait of poll; the next poll sends one."""
    driver = ClientDriver(enable_auto_commit=False)
    consumer = driver.client.consumer
    if name != "java":
        consumer = replace(consumer, fetcher=DrainedFetcher(rereads=False))
    driver.client = Client(replace(consumer, profile=profile_of(name)))
    driver.stable({0: 0})
    driver.poll(1_000)
    driver.records({0: 5})

    assert pending is bool(driver.pending(FetchRequest))
    driver.poll()
    assert driver.pending(FetchRequest)
