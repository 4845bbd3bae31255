"""Offsets that hold no record: markers of transactions, and records that compaction has removed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import Handed, in_record_order
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.application import Taking
from protocols.consumer.queued_fetches import QueuedFetcher, Rests
from protocols.messages import FetchedRecords, FetchResponse, LeaderAndEpoch
from protocols.messages.records import Gaps

TP = TopicPartition("t", 0)
MARKERS = Gaps(cycle=11, records=10)
COMPACTED = Gaps(cycle=7, records=1, until=70)
ABORTED = Gaps(cycle=33, records=10, parts=2)
"""Of three transactions of ten records and a marker the third is aborted."""

gaps = st.one_of(
    st.builds(lambda records: Gaps(records + 1, records), st.integers(1, 12)),
    st.builds(
        lambda cycle, left: Gaps(cycle, 1, cycle * left), st.integers(2, 9), st.integers(1, 9)
    ),
    st.builds(
        lambda records, every: Gaps((records + 1) * every, records, parts=every - 1),
        st.integers(1, 9),
        st.integers(2, 5),
    ),
)


def holds_record(rule: Gaps, offset: int) -> bool:
    """Return the definition, offset by offset."""
    part, inside = divmod(offset % rule.cycle, rule.records + 1)
    return offset >= rule.until or (part < rule.parts and inside < rule.records)


@given(gaps, st.integers(0, 120), st.integers(0, 120))
def test_all_questions_agree_with_the_definition(rule, first, end):
    """Counts, next records and runs, as if every offset were looked at."""
    there = [offset for offset in range(first, end) if holds_record(rule, offset)]
    below = sum(holds_record(rule, offset) for offset in range(first))

    assert below == rule.records_before(first)
    assert there == [at for run in rule.runs(first, end) for at in range(*run)]
    assert (end < first) or len(there) == rule.count_in(first, end)
    assert holds_record(rule, rule.next_record(first))
    assert not any(holds_record(rule, at) for at in range(first, rule.next_record(first)))


@given(gaps, st.integers(0, 100))
def test_a_log_ends_behind_the_gap_after_its_last_record(rule, count):
    """So that exactly its records are below its end, and the next one is appended there."""
    end = rule.end_of(count)

    assert count == rule.records_before(end)
    assert holds_record(rule, end)


def fetched(position: int, end: int, rule: Gaps, queue: int | None = None) -> Fetcher:
    """Return a consumer that has fetched a range with gaps; *queue*: so many records fill its queue."""
    found = Fetcher()
    if queue is not None:
        found = QueuedFetcher(queue, Rests(0, 0), takes_hints=True, frees_at_limit=False)
    found.positions.update_leaders({TP: LeaderAndEpoch(1, 0)})
    found.assign([TP])
    found.positions.seek(TP, position)
    found.requests()
    found.arrived(FetchResponse(1, (FetchedRecords(TP, position, end, gaps=rule),)))
    return found


def position_of(fetcher: Fetcher) -> int:
    return fetcher.positions.valid()[TP]


def test_records_are_returned_without_markers_and_the_position_is_behind_them():
    """Of 22 offsets 20 are records; nextFetchOffset is behind the last batch."""
    fetcher = fetched(0, 22, MARKERS)

    assert (20,) == fetcher.shares_ahead(500)
    assert [(TP, 0, 10), (TP, 11, 21)] == [*fetcher.collect(500)]
    assert 22 == position_of(fetcher)
    assert [(1, 22)] == [(b, r.partitions[0].offset) for b, r in fetcher.requests()]


def test_the_limit_counts_records():
    """A batch of 12 records reaches to offset 13, past one marker."""
    fetcher = fetched(0, 22, MARKERS)

    assert [(0, 10), (11, 13)] == [(part.first, part.next_offset) for part in fetcher.collect(12)]
    assert 13 == position_of(fetcher)
    assert [(13, 21)] == [(part.first, part.next_offset) for part in fetcher.collect(12)]


@pytest.mark.parametrize(
    ("rule", "limit", "position"),
    [(MARKERS, 9, 9), (MARKERS, 10, 10), (MARKERS, 11, 12), (COMPACTED, 1, 1), (COMPACTED, 2, 8)],
)
def test_a_full_poll_stops_behind_its_last_record(rule, limit, position):
    """The next poll skips the gap: nextFetchOffset is lastRecord.offset() + 1 until then."""
    fetcher = fetched(0, 22, rule)
    fetcher.collect(limit)

    assert position == position_of(fetcher)
    assert rule.next_record(position) == fetcher.collect(limit)[0].first


def test_a_marker_left_by_a_full_poll_is_skipped_by_the_next():
    """Until then nothing is fetched: the fetch is not drained (``FetchCollector.collectFetch``)."""
    fetcher = fetched(0, 11, MARKERS)
    fetcher.collect(10)

    assert [] == fetcher.requests()
    assert () == fetcher.collect(10)
    assert [(1, 11)] == [(b, r.partitions[0].offset) for b, r in fetcher.requests()]


@pytest.mark.parametrize(("position", "first"), [(10, 11), (11, 11)])
def test_both_offsets_around_a_marker_lead_to_the_same_record(position, first):
    """Committed as last offset + 1, or as the position behind the marker."""
    assert first == fetched(position, 22, MARKERS).collect(1)[0].first


def test_a_response_with_a_marker_alone_moves_the_position():
    """No record is returned, and the next fetch is behind it."""
    fetcher = fetched(10, 11, MARKERS)

    assert () == fetcher.shares_ahead(500)
    assert not fetcher.returns_records
    assert () == fetcher.collect(500)
    assert 11 == position_of(fetcher)


def test_of_a_compacted_range_only_what_is_left_is_returned():
    """Of ten cycles of seven offsets one record each, and all from the end of the compacted part on."""
    handed = fetched(0, 73, COMPACTED).collect(500)

    assert [*range(0, 70, 7), 70] == [part.first for part in handed]
    assert (70, 73) == handed[-1][1:]


def test_the_runs_of_a_partition_stay_together_in_the_order_of_consumer_records():
    """Also with more partitions than a few."""
    handed = [Handed(TopicPartition("t", n), at, at + 1) for at in (0, 5) for n in range(20)]
    ordered = in_record_order(handed)
    partitions = list(dict.fromkeys(part.partition for part in ordered))

    assert [(tp, at) for tp in partitions for at in (0, 5)] == [part[:2] for part in ordered]


def test_the_records_of_an_aborted_transaction_are_skipped():
    """The position is behind its marker, and the next transaction is read."""
    assert [(0, 10), (11, 21), (33, 40)] == [
        (part.first, part.next_offset) for part in fetched(0, 40, ABORTED).collect(500)
    ]
    fetcher = fetched(22, 33, ABORTED)
    assert () == fetcher.collect(500)
    assert 33 == position_of(fetcher)


@pytest.mark.parametrize("rule", [MARKERS, COMPACTED, ABORTED])
def test_the_application_thread_takes_a_fetch_with_all_its_gaps(rule):
    """A gap ends a range of records and not the fetch: nothing is left for the next poll."""
    fetcher = fetched(0, 77, rule)
    taking = Taking(fetcher, 500, begins_us=0)
    taking.catch_up(taking.ends_us)

    assert rule.count_in(0, 77) == sum(part.next_offset - part.first for part in taking.finish())
    assert 77 == position_of(fetcher)


def test_records_that_no_poll_returned_are_taken_again_from_the_first_of_them():
    """Positions are moved back across the gaps between them."""
    fetcher = fetched(0, 77, MARKERS)
    taking = Taking(fetcher, 30, begins_us=0)
    taking.catch_up(taking.ends_us)
    taking.put_back()

    assert 0 == position_of(fetcher)


@pytest.mark.parametrize(("queue", "fetches"), [(6, []), (7, [21])])
def test_a_full_queue_is_counted_in_records(queue, fetches):
    """Three cycles of seven offsets hold six records; ``queued.min.messages`` counts messages."""
    rule = Gaps(cycle=7, records=2)
    fetcher = fetched(0, 21, rule, queue=queue)

    assert fetches == [r.partitions[0].offset for _, r in fetcher.requests()]
