"""The outcome of transactions in which offsets were committed."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from emulator.logs.imports.store import in_order, outcomes
from emulator.logs.imports.tables import MARKERS

Place = tuple[int, int]
"""A producer's id and a log offset."""


def decided(commits: list[Place], markers: list[tuple[int, int, bool]]) -> list[str]:
    """Return how the transaction of each commit ended."""
    producers, offsets = zip(*commits, strict=True)
    rows = pa.record_batch({"producer_id": producers, "log_offset": offsets})
    columns = zip(*markers, strict=True) if markers else ((), (), ())
    ids, places, are_committed = map(list, columns)
    table = pa.table(
        [pa.array(places, pa.int64()), pa.array(ids, pa.int64()), are_committed], MARKERS
    )
    return outcomes(rows, in_order(table)).to_pylist()


def test_the_next_marker_of_the_producer_decides():
    """Not an earlier one, not a later one, not one of another producer."""
    markers = [(7, 10, True), (7, 20, False), (8, 12, True), (7, 30, True)]

    ended = decided([(7, 5), (7, 15), (7, 25), (8, 15), (9, 1), (7, 31)], markers)

    assert ["committed", "aborted", "committed", "pending", "pending", "pending"] == ended


def test_without_markers_all_are_pending():
    """The transaction may be open, or its marker in a part that was not read."""
    assert ["pending"] == decided([(7, 5)], [])


@given(st.data())
def test_any_log_is_decided_as_by_hand(data):
    """Whatever producers and offsets there are, near and far."""
    offsets = data.draw(
        st.lists(
            st.integers(0, 30) | st.integers(2**60, 2**60 + 9), min_size=2, max_size=30, unique=True
        )
    )
    many = data.draw(st.integers(1, len(offsets)))
    producers = [data.draw(st.sampled_from([0, 1, 5, 2**62])) for _ in offsets]
    places = list(zip(producers, offsets, strict=True))
    commits = places[:many]
    markers = [(*place, data.draw(st.booleans())) for place in places[many:]]

    def by_hand(producer: int, offset: int) -> str:
        behind = [(at, kept) for who, at, kept in markers if who == producer and at > offset]
        return ("committed" if min(behind)[1] else "aborted") if behind else "pending"

    assert [by_hand(*place) for place in commits] == decided(commits, markers)
