"""Two consumers side by side find aborted and open transactions, in any order of records."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError

from emulator.logs.errors import BrokerError
from emulator.logs.imports import live
from emulator.logs.imports.live import LiveRecords
from emulator.logs.imports.pieces import LogRange, Selection
from emulator.logs.imports.rows import Events, Origin
from emulator.logs.imports.tables import plain
from protocols.offsets_topic.records import encode

from .logs import commit

SETTINGS = {"bootstrap.servers": "kafka-1:9092"}


@dataclass
class Given:
    """A message as confluent-kafka gives it: a record at an offset, or an error."""

    at: int
    failure: KafkaError | None = None

    def error(self) -> KafkaError | None:
        return self.failure

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000 + self.at

    def key(self) -> bytes:
        return encode(commit())[0]

    def value(self) -> bytes | None:
        return encode(commit(offset=self.at))[1]


@dataclass
class Consumer:
    """Gives its messages in pieces; behind the last one is the end of the log."""

    messages: list[Given]
    pieces: list[int]
    end: int = 0
    """Of the log, as it sees it."""

    assigned: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log, self.messages = self.messages, []

    def assign(self, places: list[Any]) -> None:
        self.assigned += places
        self.messages = [each for each in self.log if each.at >= places[0].offset]

    def unassign(self) -> None:
        self.messages = []

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        return 0, self.end

    def consume(self, most: int, timeout: float) -> list[Given]:
        size = self.pieces.pop(0) if self.pieces else most
        given, self.messages = self.messages[:size], self.messages[size:]
        return given


def end_at(offset: int) -> Given:
    """Return the end of a log as a consumer sees it."""
    return Given(offset, KafkaError(KafkaError._PARTITION_EOF))


def imported(patch, committed: Consumer, everything: Consumer, end: int, begin: int = 0):
    """Return the rows of commits, and of gaps, of a stretch."""

    @contextmanager
    def consumer(_: object, *, committed_only: bool):
        yield (committed if committed_only else everything), ["Connection refused"]

    patch.setattr(live, "consumer", consumer)
    events = Events(Origin(3, "__consumer_offsets-3"), Selection())
    records = LiveRecords(LogRange("__consumer_offsets", 3, begin, end), SETTINGS, events.collected)
    found = {"commits": [], "gaps": []}
    for table, rows in events.of_runs(records.runs()):
        is_commit = table == "commits"
        found[table] += (plain(records.marked(rows)) if is_commit else rows).to_pylist()
    return found["commits"], found["gaps"]


@given(st.data())
def test_every_record_comes_once_and_says_what_became_of_it(data):
    """Whatever is a marker, compacted, aborted or open, and in whatever pieces it comes."""
    end = data.draw(st.integers(1, 25))
    begin = data.draw(st.integers(0, end - 1))
    stable = data.draw(st.integers(0, end))
    kinds = [data.draw(st.sampled_from(["kept", "kept", "aborted", "gone"])) for _ in range(end)]
    later = data.draw(st.integers(0, 3))
    there = [Given(at) for at, kind in enumerate(kinds) if kind != "gone"]
    there += [Given(end + at) for at in range(later)]
    kept = [each for each in there if each.at < stable and kinds[each.at] == "kept"]
    pieces = st.lists(st.integers(1, 6), max_size=12)
    first = Consumer([*kept, end_at(stable)], data.draw(pieces), stable)
    second = Consumer([*there, end_at(end + later)], data.draw(pieces))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "PATIENCE_S", 0.01)
        patch.setattr(live, "WINDOW", data.draw(st.integers(1, 9)))
        rows, gaps = imported(patch, first, second, end, begin)

    def name_at(at: int) -> str | None:
        return "undecided" if at >= stable else "aborted" if kinds[at] == "aborted" else None

    places = [at for at in range(begin, end) if kinds[at] != "gone"]
    assert [(at, name_at(at)) for at in places] == [
        (row["log_offset"], row["transaction"]) for row in rows
    ]
    assert {None} >= {row["producer_id"] for row in rows}
    assert [] == gaps


def test_a_message_that_cannot_be_read_is_a_gap(monkeypatch):
    """By its log offset; those behind it are read."""
    bad = Given(1, KafkaError(KafkaError._BAD_MSG, "Bad message format"))
    first = Consumer([Given(0), Given(2), end_at(3)], [], 3)
    second = Consumer([Given(0), bad, Given(2), end_at(3)], [])

    rows, (gap,) = imported(monkeypatch, first, second, 3)

    assert [0, 2] == [row["log_offset"] for row in rows]
    assert (3, "__consumer_offsets-3", 1, 1, "Bad message format") == tuple(gap.values())


def test_a_group_without_permission_does_not_matter(monkeypatch):
    """The client looks up its coordinator, but does not need one."""
    refused = Given(0, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    consumers = [Consumer([refused, Given(0), end_at(1)], [1, 1], 1) for _ in range(2)]

    rows, _ = imported(monkeypatch, *consumers, 1)

    assert [0] == [row["log_offset"] for row in rows]
    assert [("__consumer_offsets", 3, 0)] == [
        (place.topic, place.partition, place.offset) for place in consumers[0].assigned
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "kafka-1:9092: no permission to read the topic"),
        (KafkaError.OFFSET_OUT_OF_RANGE, "kafka-1:9092: no answer within .*Connection refused"),
    ],
)
def test_an_error_that_ends_the_reading_has_the_address(code, reason, monkeypatch):
    """Removed permissions, and any other error."""
    consumers = [Consumer([Given(0), Given(0, KafkaError(code))], [], 5) for _ in range(2)]

    with pytest.raises(BrokerError, match=reason):
        imported(monkeypatch, *consumers, 5)


def test_waiting_ends(monkeypatch):
    """A broker without an answer is reported with its address."""
    monkeypatch.setattr(live, "PATIENCE_S", 0.01)
    consumers = [Consumer([Given(0)], [], 5) for _ in range(2)]

    with pytest.raises(BrokerError, match="kafka-1:9092: no answer within"):
        imported(monkeypatch, *consumers, 5)
