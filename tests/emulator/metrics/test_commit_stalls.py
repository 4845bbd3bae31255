"""How long a committed offset stands still while records are processed."""

from __future__ import annotations

from emulator.metrics.commits import CommitStallMeter

from ..ledger.history import History
from .meters import read


def stall(*samples, ended_s=None):
    """The longest stall, with a sample of committed and processed offset each second from 1 s on."""
    history = History()
    for committed, processed in samples:
        history.now_us += 999_000
        history.lag((1000, 0), (committed, 0), (processed, 0))
    reading = read(CommitStallMeter(), history, ended_s and ended_s * 1_000_000)
    table = reading.tables["commit_stall_max.by_partition"]
    assert max(table.values()) == table["orders-0"] == reading.values["commit_stall_max_s"]
    return table["orders-0"]


def test_a_stall_lasts_from_uncommitted_progress_to_the_commit():
    """The sample at which the next stall begins may be the one at which a stall ends."""
    assert 2 == stall((0, 0), (0, 10), (0, 20), (15, 30), (30, 30))
    assert 1 == stall((0, 0), (0, 10), (10, 10), (10, 10), (10, 10))


def test_a_partition_without_uncommitted_records_does_not_stall():
    """Nothing arrives, or the commit is ahead of the work."""
    assert 0 == stall((50, 50), (50, 50), (50, 50))
    assert 0 == stall((100, 50), (100, 60), (100, 90))


def test_a_stall_goes_on_under_the_next_owner_that_begins_at_the_commit():
    """It has not got further than its predecessor until it commits."""
    assert 4 == stall((10, 10), (10, 20), (10, 10), (10, 10), (10, 25), (25, 25))


def test_a_stall_that_does_not_end_lasts_to_the_end_of_the_run():
    """As commits that are refused for ever."""
    assert 8 == stall((10, 10), (10, 20), (10, 30), ended_s=10)


def test_before_the_first_commit_the_beginning_of_an_owner_counts():
    """Latest began at 500: no record was processed, so nothing waits for a commit."""
    assert 0 == stall((-1, -1), (-1, 500), (-1, 500), (-1, 500))
    assert 2 == stall((-1, 500), (-1, 510), (-1, 520), (520, 520))


def test_a_rewind_does_not_end_a_stall():
    """The committed offset has to advance."""
    assert 3 == stall((20, 20), (20, 30), (10, 30), (10, 30), (30, 30))


def test_an_offset_that_was_dropped_stalls_what_is_processed_beyond_it():
    """The expired offset was 20: records from there on have never been committed."""
    assert 0 == stall((20, 20), (-1, 20), (-1, 20))
    assert 2 == stall((20, 20), (-1, 25), (-1, 25), (30, 30))
