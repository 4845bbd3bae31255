"""Commits by partition: the same from memory and from disk."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.logs.audit.commits import GONE, Commits, KeptCommits
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError

BATCHES = st.lists(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9), st.integers(-1, 9)),
        max_size=6,
    ),
    max_size=5,
)
"""Of commits: partition, place in the log, time, offset."""


def kept(batches: list, max_held: int) -> KeptCommits:
    """Return what keeps some batches of commits."""
    commits = KeptCommits(max_held)
    for batch in batches:
        names = [PartitionName("orders", number) for number, *_ in batch]
        numbers = np.array([commits.number_of(name) for name in names], np.int64)
        rows = np.array([row[1:] for row in batch], np.int64).reshape(-1, 3)
        commits.add(numbers, rows)
    commits.settle()
    return commits


def shown(commits: Commits) -> list[list[int]]:
    """Return the columns of some commits."""
    return [commits.at_us.tolist(), commits.offsets.tolist(), commits.highest.tolist()]


@settings(max_examples=30, deadline=None)
@given(batches=BATCHES, max_held=st.integers(1, 9))
def test_spilled_commits_come_back_unchanged(batches, max_held):
    """Whenever memory is full: in the order of the log, or of reading without an order there."""
    here, aside = kept(batches, 1 << 20), kept(batches, max_held)

    assert list(here) == list(aside)
    for name in here:
        own = [row[1:] for batch in batches for row in batch if row[0] == name.partition]
        in_order = sorted(own, key=lambda row: row[0])
        assert shown(here[name]) == shown(aside[name])
        assert [offset for *_, offset in in_order] == aside[name].offsets.tolist()


def test_spilled_commits_are_removed_with_the_audit(tmp_path, monkeypatch):
    """Nothing is left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    commits = kept([[(0, 1, 1, 5)]], 1)

    assert [5] == commits[PartitionName("orders", 0)].offsets.tolist()
    assert 1 == len(list(tmp_path.iterdir()))
    del commits
    assert [] == list(tmp_path.iterdir())


def test_no_room_is_said(tmp_path, monkeypatch):
    """With how to give another folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))

    with pytest.raises(AuditError, match="No such file or directory; set TMPDIR to a folder"):
        kept([[(0, 1, 1, 5)]], 1)


def test_commits_are_counted_by_the_log_though_clocks_went_back():
    """A commit is there when all before it are; what is asked of them is the same as one by one."""
    commits = Commits.of(np.array([5, 3, 9]), np.array([7, GONE, 4]))

    assert [0, 2, 2, 3] == [commits.count_by(at_us) for at_us in (4, 5, 8, 9)]
    assert [GONE, 7, GONE, 4] == [commits.newest(count) for count in range(4)]
    assert [GONE, 7, 7, 7] == [commits.top(count) for count in range(4)]
    assert [None, 0, None] == [commits.first_beyond(*each) for each in ((6, 0), (6, 3), (7, 3))]
