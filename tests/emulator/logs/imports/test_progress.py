"""One partition over time: commits, rewinds with their owner, deletions, in bounded memory."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from emulator.logs.imports.generations import Place, Seen
from emulator.logs.imports.progress import (
    MAX_POINTS,
    MAX_REWINDS,
    MAX_TENURES,
    Commit,
    Progress,
    Run,
)

ONE, OTHER = Seen("id-1", "one", "10.0.0.1"), Seen("id-2", "other", "10.0.0.2")


def progress_of(*steps) -> Progress:
    """Go through steps: a time and an offset, or a time and a new owner."""
    progress = Progress("billing", "orders", 0)
    for number, (at_ms, step) in enumerate(steps):
        place = Place(7, number, at_ms)
        if step is None or isinstance(step, int):
            progress.see(Commit(place, step))
        else:
            progress.owned(place, step or None)
    return progress


def test_progress_is_counted():
    """From the first commit on: earlier progress is unknown."""
    progress = progress_of((1_000, 100), (6_000, 200), (11_000, 300))

    assert (3, 200, 300) == (progress.commits, progress.advanced, progress.offset)
    assert 5_000 * 0.99 <= progress.intervals_ms.quantile(0.5) <= 5_000
    assert 11_000 == progress.advanced_ms


def test_a_commit_below_the_one_before_is_a_rewind():
    """It names both owners; work that is done twice is not counted as an advance."""
    progress = progress_of((0, ONE), (1, 500), (2, OTHER), (3, 400), (4, 500))
    (rewind,) = progress.rewinds

    assert (500, 400) == (rewind.from_offset, rewind.to_offset)
    assert (OTHER, ONE) == (rewind.member, rewind.member_before)
    assert (Place(7, 3, 3), 1) == (rewind.place, rewind.before_ms)
    assert 100 == progress.advanced


def test_the_same_offset_again_is_neither():
    """An idle partition is committed by the clock."""
    progress = progress_of((0, 10), (5_000, 10), (10_000, 10))

    assert (0, 0, 0) == (progress.advanced, progress.rewound, progress.advanced_ms)


def test_after_a_deletion_a_smaller_offset_is_no_rewind():
    """Nothing was committed when it came."""
    progress = progress_of((0, 500), (1, None), (2, 100))

    assert (1, 1, 0, 100) == (
        progress.deletions,
        progress.deleted_ms,
        progress.rewound,
        progress.offset,
    )


def test_time_between_two_owners_is_no_interval():
    """The new owner's cadence begins with its own first commit."""
    progress = progress_of((0, ONE), (1, 1), (100_000, OTHER), (100_001, 2), (100_011, 3))

    assert [(10, 1)] == progress.intervals_ms.rows()
    assert [1, 2] == [tenure.commits for tenure in progress.tenures]


def test_the_rate_of_an_owner_counts_from_when_it_had_the_partition():
    """Its first commit covers what it did since."""
    progress = progress_of((0, ONE), (1_000, 0), (2_000, OTHER), (4_000, 20), (5_000, 30))
    tenure = progress.tenures[-1]

    assert (2_000, 30) == (tenure.counted_from_ms, tenure.advanced)


def test_memory_does_not_grow_with_the_commits():
    """Nor with rewinds and owners: sums, the newest and a thinned curve are kept."""
    progress = Progress("billing", "orders", 0)
    for number in range(3_000):
        place = Place(7, number, number)
        progress.owned(place, ONE if number % 2 else OTHER)
        progress.see(Commit(place, 10_000 - number))

    assert (3_000, 2_999) == (progress.commits, progress.rewound)
    assert MAX_REWINDS == len(progress.rewinds)
    assert MAX_TENURES == len(progress.tenures)
    assert MAX_POINTS // 2 <= len(progress.points) <= MAX_POINTS
    assert (0, 10_000) == progress.points[0]


COMMITS = st.lists(
    st.tuples(st.integers(-3, 9_000), st.integers(-40, 200), st.booleans()), max_size=400
)
CUTS = st.lists(st.tuples(st.integers(1, 300), st.sampled_from([ONE, OTHER, None])), max_size=4)


@given(COMMITS, CUTS)
def test_columns_equal_rows(drawn, cuts):
    """In any batches, with owner changes between them."""
    one_by_one, in_runs = (Progress("billing", "orders", 0) for _ in range(2))
    at_ms, offset, commits = 10**6, 5_000, []
    for number, (later_ms, step, in_transaction) in enumerate(drawn):
        at_ms, offset = at_ms + later_ms, offset + step
        commits.append(Commit(Place(7, number, at_ms), offset, in_transaction))
    begin = 0
    for size, owner in [*cuts, (400, ONE)]:
        run = commits[begin : begin + size]
        begin += size
        for commit in run:
            one_by_one.see(commit)
        if run:
            in_runs.see_run(_columns(run))
        for progress in (one_by_one, in_runs):
            progress.owned(Place(7, 1_000 + begin, at_ms), owner)

    assert one_by_one == in_runs


def _columns(commits) -> Run:
    numbers = np.array([(*each.place, each.offset) for each in commits], np.int64).T
    return Run(*numbers, np.array([each.in_transaction for each in commits], np.bool_))
