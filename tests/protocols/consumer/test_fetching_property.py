"""A data plane under anything: what it hands out follows on from what it handed out before."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.positions import Phase
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch

BROKERS = (1, 2)


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


class Reader:
    """A fetcher, and what it has handed out of each partition since it last began there."""

    def __init__(self) -> None:
        self.fetcher = Fetcher()
        self.handed: dict[TopicPartition, list[Handed]] = {}
        self.metadata(0, 0)
        self.assign(3, 0)

    def arrive(self, number: int, count: int) -> None:
        self.fetcher.requests()
        broker = BROKERS[number % 2]
        if broker not in self.fetcher.in_flight:
            return
        mine = {
            p: at
            for p, at in self.fetcher.positions.valid().items()
            if p.partition % 2 == number % 2
        }
        parts = tuple(FetchedRecords(p, at, at + count) for p, at in mine.items())
        self.fetcher.arrived(FetchResponse(broker, parts))

    def collect(self, number: int, count: int) -> None:
        del number
        for part in self.fetcher.collect(count):
            self.handed.setdefault(part.partition, []).append(part)

    def assign(self, number: int, count: int) -> None:
        del count
        self.fetcher.assign(tp(n) for n in range(number))
        kept = self.fetcher.positions.assigned
        self.handed = {
            partition: had for partition, had in self.handed.items() if partition in kept
        }
        for partition in self.fetcher.positions.in_phase(Phase.INITIALIZING):
            self.fetcher.positions.seek(partition, 0)

    def seek(self, number: int, count: int) -> None:
        if tp(number) in self.fetcher.positions.assigned:
            self.fetcher.positions.seek(tp(number), count)
            self.handed.pop(tp(number), None)

    def lose(self, number: int, count: int) -> None:
        del count
        self.fetcher.disconnected(BROKERS[number % 2])

    def metadata(self, number: int, count: int) -> None:
        del number, count
        led = {tp(n): LeaderAndEpoch(BROKERS[n % 2], 0) for n in range(20)}
        self.fetcher.positions.update_leaders(led)

    def check(self) -> None:
        self.fetcher.check()
        for ranges in self.handed.values():
            assert all(a.next_offset == b.first for a, b in pairwise(ranges))
        for partition, at in self.fetcher.positions.valid().items():
            if partition in self.handed:
                assert at == self.handed[partition][-1].next_offset


MOVES = [
    Reader.arrive,
    Reader.collect,
    Reader.assign,
    Reader.seek,
    Reader.lose,
    Reader.metadata,
]


@settings(deadline=None, max_examples=75)
@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 4), st.integers(1, 9))))
def test_records_are_handed_out_once_and_in_order(moves):
    """Between two beginnings of a partition each range begins where the last one ended."""
    reader = Reader()
    for move, number, count in moves:
        move(reader, number, count)
        reader.check()
