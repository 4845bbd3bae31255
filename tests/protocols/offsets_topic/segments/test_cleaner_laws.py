"""Laws of compaction for any log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.segments.batch import Batch

from .drawn import commits
from .logs import Log, effective_records, records_of, state_of
from .test_transactions import ABORT, COMMIT, ended, sent

NOW = 1_000_000_000
DAY_MS = 86_400_000
KEYS = st.lists(st.sampled_from(["a", "b", "c", "d", "-a", "-b"]), min_size=1, max_size=4)
PLAIN = st.tuples(st.just("plain"), KEYS, st.integers(0, 3))
STEPS = PLAIN | st.tuples(st.sampled_from(["sent", "commit", "abort"]), KEYS, st.integers(7, 8))


def built(segments: list[list[tuple[str, list[str], int]]]) -> Log:
    """Carry out steps, each a batch; close what is open at the end."""
    offset = 0
    held: list[list[Batch]] = []
    open_producers: set[int] = set()
    for steps in segments:
        batches = []
        for kind, keys, number in steps:
            if kind == "plain":
                batch = commits(
                    keys, offset + number, last=offset + number + len(keys), time=number
                )
            elif kind == "sent":
                batch = sent(keys, offset, number)
                open_producers.add(number)
            else:
                batch = ended(COMMIT if kind == "commit" else ABORT, offset, number)
                open_producers.discard(number)
            batches.append(batch)
            offset = batch.header.next_offset
        held.append(batches)
    for producer in sorted(open_producers):
        held[-1].append(ended(ABORT, offset, producer))
        offset += 1
    last = commits(["z"], offset)
    return Log.of(*[batches for batches in held if batches], [last])


PLAIN_LOGS = st.lists(st.lists(PLAIN, max_size=5), min_size=1, max_size=4).map(built)
LOGS = st.lists(st.lists(STEPS, max_size=6), min_size=1, max_size=4).map(built)


@given(LOGS, st.integers(1, 5), st.sampled_from([1, 300, 10**8]))
def test_a_reader_of_the_compacted_log_ends_with_the_same_state(log, entries, segment_bytes):
    """After each of some passes, with maps that fill up, a day or two apart."""
    state = state_of(log)
    for days in range(4):
        log = log.compacted(NOW + days * DAY_MS, entries=entries, segment_bytes=segment_bytes)

        assert state == state_of(log)


@given(LOGS)
def test_the_newest_value_of_each_key_survives_where_it_was(log):
    """Its offset, its time and its bytes."""
    newest = {record.key: record for record in effective_records(log)}
    left = records_of(log.compacted().compacted(NOW + DAY_MS))

    assert {each for each in newest.values() if each.value is not None} <= set(left)


@given(LOGS, st.integers(1, 9))
def test_remaining_records_are_unchanged(log, entries):
    """Records in their order; batches with their offsets."""
    clean = log.compacted(entries=entries)
    before, after = records_of(log), records_of(clean)
    spans = [
        [(batch.header.base_offset, batch.header.last_offset) for batch in each.all_batches()]
        for each in (log, clean)
    ]

    assert [record for record in before if record in set(after)] == after
    assert set(spans[1]) <= set(spans[0])
    assert sorted(spans[1]) == spans[1]


@given(PLAIN_LOGS)
def test_a_second_pass_changes_nothing(log):
    """Of a log without transactions, before a horizon is reached."""
    once = log.compacted()
    from_the_start = Log(once.segments, once.batches)

    assert once.batches == from_the_start.compacted().batches


@given(LOGS)
def test_a_third_pass_changes_nothing(log):
    """With transactions: the second may find that a marker's data has gone."""
    twice = log.compacted().compacted()
    again = Log(twice.segments, twice.batches).compacted()

    assert Log(again.segments, again.batches).compacted().batches == again.batches


@given(LOGS)
def test_tombstones_outlive_the_day_after_the_pass_that_kept_them(log):
    """They are removed in a pass at its end."""
    end = log.segments[-1].base_offset
    first = log.compacted(NOW)
    tombstones = {each for each in records_of(first) if each.value is None and each.offset < end}
    early = set(records_of(first.compacted(NOW + DAY_MS - 1)))
    late = set(records_of(first.compacted(NOW + DAY_MS)))

    assert tombstones <= early
    assert not tombstones & late


@given(LOGS, st.integers(0, 40))
def test_nothing_from_the_first_uncleanable_offset_on_is_touched(log, stable):
    """Segments behind the last stable offset's are those they were."""
    bound = log.to_clean(stable).first_uncleanable_offset
    clean = log.compacted(stable=stable)

    assert clean.checkpoint <= max(bound, 0)
    assert [each for each in log.segments if each.base_offset >= bound] == [
        each for each in clean.segments if each.base_offset >= bound
    ]
    assert [each for each in log.all_batches() if each.header.base_offset >= bound] == [
        each for each in clean.all_batches() if each.header.base_offset >= bound
    ]


@given(LOGS)
def test_each_active_producer_keeps_its_last_batch(log):
    """Whatever becomes of its records."""
    clean = log.compacted(active=True).compacted(active=True)
    for producer in (7, 8):
        data = [
            [
                batch.header.last_offset
                for batch in each.all_batches()
                if batch.header.producer_id == producer and not batch.header.is_control
            ]
            for each in (log, clean)
        ]

        assert data[0][-1:] == data[1][-1:]
