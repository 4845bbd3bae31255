"""Burrow's rules: the status of a partition from its last commits and the ends of its log.

Source: ``core/internal/evaluator/caching.go`` ``calculatePartitionStatus`` and the functions that it calls.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Status(enum.StrEnum):
    """The status of a partition, in Burrow's words."""

    OK = "OK"
    WARN = "WARN"
    STOP = "STOP"
    STALL = "STALL"
    REWIND = "REWIND"


class Commit(NamedTuple):
    """One commit in the window."""

    at_us: int
    offset: int
    lag: int


def append(window: deque[Commit], at_us: int, offset: int, end: int, min_distance_us: int) -> None:
    """Add a commit to a window; one too close to the last one replaces it, and keeps its time.

    Source: ``core/internal/storage/inmemory.go`` ``addConsumerOffset`` (``min-distance``).
    """
    if window and at_us - window[-1].at_us < min_distance_us:
        at_us = window.pop().at_us
    window.append(Commit(at_us, offset, max(0, end - offset)))


def status_of(
    commits: Sequence[Commit],
    ends: Sequence[int],
    now_us: int,
    *,
    allowed_lag: int = 0,
    rewind_first: bool = True,
) -> Status:
    """Return the status of a partition at *now_us*.

    *commits*: the window, the oldest first. *ends*: the last ends of the log that Burrow has read, the
    oldest first. *rewind_first*: False is Burrow's older rule (before commit d69a8ec of 2021), which looks
    for rewinds only if lag was never zero in the window, and forgives none that was made up for.
    """
    if not commits or not ends or ends[-1] - commits[-1].offset <= allowed_lag:
        return Status.OK
    recently_none = any(end <= commits[-1].offset for end in ends)
    if _stopped(commits, now_us) and not recently_none:
        return Status.STOP
    if rewind_first and _rewound(commits):
        return Status.REWIND
    if any(commit.lag <= allowed_lag for commit in commits):
        return Status.OK
    if not rewind_first and any(b.offset < a.offset for a, b in pairwise(commits)):
        return Status.REWIND
    if len({commit.offset for commit in commits}) == 1:
        return Status.STALL
    falls = any(later.lag < earlier.lag for earlier, later in pairwise(commits))
    return Status.OK if falls else Status.WARN


def _stopped(commits: Sequence[Commit], now_us: int) -> bool:
    """Return whether the last commit is older than the window is long."""
    return now_us - commits[-1].at_us > commits[-1].at_us - commits[0].at_us


def _rewound(commits: Sequence[Commit]) -> bool:
    """Return whether the first rewind of the window has not been made up for."""
    for index, (earlier, later) in enumerate(pairwise(commits), start=1):
        if later.offset < earlier.offset:
            return all(commit.offset < earlier.offset for commit in commits[index:])
    return False
