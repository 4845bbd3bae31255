"""What an ownership epoch has finished, may have finished, and will repeat."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.events import Event, RunEnded
from emulator.ledger.epochs import Epoch, PendingRepeat

from .test_coverage import ATTRIBUTION, epoch

END = Event(9, 9, None, RunEnded(log_ends=(), positions=()), 9)


def at(cursor: int, **more: Any) -> Epoch:
    made = epoch(1)
    made.cursor = made.position = cursor
    for name, value in more.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("more", "reach"),
    [
        ({"position": 70}, 50),
        ({"position": 70, "closed_by": END}, 50),
        ({"position": 70, "overtakes": True}, 50),
        ({"position": 70, "overtakes": True, "closed_by": END}, 70),
        ({"position": 40, "overtakes": True, "closed_by": END}, 50),
        ({"position": 70, "overtakes": True, "out_of_order": {55: 60}}, 60),
    ],
)
def test_workers_that_overtake_may_have_processed_what_was_polled(more, reach):
    """Once they are stopped; others process in order."""
    assert reach == at(50, **more).reach


@pytest.mark.parametrize(
    ("cursor", "limits", "kept", "finished"),
    [(50, (60,), 50, 50), (60, (60,), 60, 60), (70, (60,), 60, 70), (70, (60, 65), 60, 70)],
)
def test_a_truncation_limits_where_an_epoch_goes_on(cursor, limits, kept, finished):
    """To the lowest of several; what it had finished behind is known."""
    one = at(cursor)
    for limit in limits:
        one.truncate(limit)

    assert (kept, kept, finished) == (one.cursor, one.position, one.finished)


@pytest.mark.parametrize(
    ("offset", "limit", "ranges"),
    [
        (0, None, [(10, 20), (30, 40)]),
        (10, None, [(10, 20), (30, 40)]),
        (15, None, [(15, 20), (30, 40)]),
        (20, None, [(30, 40)]),
        (0, 35, [(10, 20), (30, 35)]),
        (0, 30, [(10, 20)]),
    ],
)
def test_repeats_are_pending_from_an_offset_to_the_end_of_the_log(offset, limit, ranges):
    """Each as far as it is left."""
    pending = tuple(PendingRepeat(*each, ATTRIBUTION) for each in ((10, 20), (30, 40)))
    one = at(50, pending_repeats=pending, limit=limit)

    assert ranges == [(each.start, each.end) for each in one.pending_from(offset)]


def test_a_pending_repeat_has_its_first_offset_and_not_its_end():
    """Between two of them there is none."""
    pending = tuple(PendingRepeat(*each, ATTRIBUTION) for each in ((10, 20), (30, 40)))
    found = [at(0, pending_repeats=pending).pending_at(offset) for offset in (9, 10, 19, 20, 30)]

    assert [None, pending[0], pending[0], None, pending[1]] == found
