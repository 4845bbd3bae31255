"""How often an automatic commit covers records that are only being handed out.

What was measured on real consumers: mostly with a backlog in small batches, rarely in large
ones, never with one or two live partitions, and again with three (their records come in a row).
"""

from __future__ import annotations

from .live import Live


def ahead(seconds: float, partitions: int, **more) -> float:
    """Return the share of commits that are ahead of what was worked off."""
    consumer = Live(partitions, **more)
    consumer.live(seconds)

    assert consumer.commits > 20
    return consumer.ahead / consumer.commits


def backlog(batch: int, work_ms: float, **more) -> float:
    settings = {"backlog": 40_000, "every_ms": 0, "auto_commit_interval_ms": 400}
    return ahead(60, 2, max_poll_records=batch, work_ms=work_ms, **settings, **more)


def live(partitions: int) -> float:
    return ahead(20, partitions, auto_commit_interval_ms=513)


def test_with_a_backlog_in_small_batches_most_commits_are_ahead():
    """Records are buffered whenever a commit falls due, and taking a hundred is quick."""
    assert 0.75 < backlog(100, 5) <= 1


def test_with_a_backlog_in_large_batches_few_are():
    """Taking five hundred records mostly takes longer than the background thread needs."""
    assert backlog(500, 1) < 0.45


def test_quick_threads_lose_fewer_races():
    """The rate follows how long a thread needs to wake up: it is a parameter of the host."""
    assert backlog(100, 5, median_us=500) < backlog(100, 5, median_us=1_400) - 0.2


def test_one_live_partition_is_never_ahead():
    """After each record the application waits: the background thread is always first."""
    assert live(1) == 0


def test_two_live_partitions_are_never_ahead():
    """The second record in a row is handed out by a poll without an event."""
    assert live(2) == 0


def test_three_live_partitions_are_ahead_at_times():
    """The third record in a row is handed out by a poll with an event, from the buffer."""
    assert 0.05 < live(3) < 0.6
