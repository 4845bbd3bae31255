"""Committed offsets and pending ones, as a load puts them together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets_topic.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.offsets_topic.replay import (
    NO_PRODUCER_ID,
    Loaded,
    StoredOffset,
    replayed,
    transaction_ended,
)

PRODUCER = 4000


def commit(state: Loaded, offset: int | None, log_offset: int, producer_id: int = NO_PRODUCER_ID):
    """Commit an offset of the only partition, or delete it."""
    value = None if offset is None else OffsetCommitValue(offset, 0)
    return replayed(state, Record(OffsetCommitKey("g", "t", 0), value), log_offset, producer_id)


def end(state: Loaded, producer_id: int = PRODUCER, *, is_committed: bool = True) -> Loaded:
    return transaction_ended(state, producer_id, is_committed=is_committed).loaded


def committed(state: Loaded) -> int | None:
    """Return the committed offset of the only partition."""
    of_group = state.offsets.committed.get("g", {})
    stored = of_group.get(("t", 0))
    return None if stored is None else stored.value.offset


def test_a_commit_replaces_the_one_before_it():
    """Whatever offset it is."""
    state = commit(commit(Loaded(), 9, 0), 5, 1)

    assert StoredOffset(1, OffsetCommitValue(5, 0)) == state.offsets.committed["g"]["t", 0]


def test_a_commit_of_the_oldest_form_counts_as_one_of_today():
    """Type 0 under the key of type 1."""
    old = Record(
        LegacyOffsetCommitKey("g", "t", 0), LegacyOffsetCommitValue(offset=3, commit_timestamp=8)
    )

    assert 3 == committed(replayed(Loaded(), old, 0))
    assert None is committed(commit(replayed(Loaded(), old, 0), None, 1))


def test_a_pending_offset_counts_when_its_transaction_is_committed():
    """Not before, and never if it is aborted; the group is there at once."""
    pending = commit(Loaded(), 7, 0, PRODUCER)

    assert None is committed(pending)
    assert [PRODUCER] == pending.offsets.producers_of("g")
    assert "g" in pending.groups
    assert (7, []) == (committed(end(pending)), end(pending).offsets.producers_of("g"))
    assert None is committed(end(pending, is_committed=False))


def test_the_end_of_a_transaction_names_its_groups():
    """In order of their names; of an unknown producer there are none."""
    state = Loaded()
    for group in ("b", "a"):
        record = Record(OffsetCommitKey(group, "t", 0), OffsetCommitValue(1, 0))
        state = replayed(state, record, 0, PRODUCER)

    assert ("a", "b") == transaction_ended(state, PRODUCER, is_committed=False).group_ids
    assert (state, ()) == transaction_ended(state, 1, is_committed=True)


def test_a_pending_offset_does_not_replace_what_was_committed_after_it():
    """Log offsets decide, not the order of the ends."""
    later = commit(commit(Loaded(), 7, 0, PRODUCER), 9, 1)
    earlier = commit(commit(Loaded(), 9, 0), 7, 1, PRODUCER)

    assert (9, 7) == (committed(end(later)), committed(end(earlier)))


def test_a_tombstone_ends_pending_commits_of_all_transactions():
    """Of that partition; the rest of each transaction continues."""
    state = commit(commit(commit(Loaded(), 7, 0, PRODUCER), 8, 1, PRODUCER + 1), 5, 2)
    other = Record(OffsetCommitKey("g", "t", 1), OffsetCommitValue(4, 0))
    state = commit(replayed(state, other, 3, PRODUCER), None, 4)

    assert [PRODUCER] == state.offsets.producers_of("g")
    ended = end(end(state), PRODUCER + 1)
    assert (None, 4) == (committed(ended), ended.offsets.committed["g"]["t", 1].value.offset)


STEPS = st.lists(
    st.tuples(st.sampled_from(["commit", "delete", "end", "abort"]), st.integers(-1, 2)),
    max_size=30,
)


@given(STEPS)
def test_offsets_are_those_of_the_newest_record_that_counts(steps):
    """Against a plain reading of the rules, one partition and three producers."""
    state, there = Loaded(), None
    pending: dict[int, tuple[int, int]] = {}
    for log_offset, (what, producer) in enumerate(steps):
        if what == "commit":
            state = commit(state, log_offset * 10, log_offset, producer)
            if producer == NO_PRODUCER_ID:
                there = (log_offset, log_offset * 10)
            else:
                pending[producer] = (log_offset, log_offset * 10)
        elif what == "delete":
            state, there = commit(state, None, log_offset), None
            pending.clear()
        else:
            state = end(state, producer, is_committed=what == "end")
            waited = pending.pop(producer, None)
            if what == "end" and waited is not None and (there is None or waited > there):
                there = waited

        assert (there and there[1]) == committed(state)
        assert sorted(pending) == state.offsets.producers_of("g")
