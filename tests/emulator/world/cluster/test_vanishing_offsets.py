"""Offsets that expire while their coordinator's broker cannot keep what it writes."""

from __future__ import annotations

from emulator.events import AppendFailed, OffsetsDropped

from ..faults.offsets_stage import ALONE, ONE, SHORT_LIVED
from ..stage import SECOND, staged


def offsets_expire(fault):
    """Play a group whose one member closes; the look at 80 s finds its offsets expired."""
    return staged(
        f'[[act]]\nclose = "g-0"\nat = "15s"\n{fault}',
        run=SHORT_LIVED,
        topic=ONE,
        group=ALONE,
        run_for="130s",
    )


def test_offsets_do_not_vanish_while_there_is_no_room_for_their_tombstones():
    """They do when there is room again: at the next look."""
    full = '[[fault]]\nfill_disk = "coordinator of g"\nat = "75s"\nfor = "20s"'
    seen = offsets_expire(full)
    (dropped,) = seen.all(OffsetsDropped)

    assert {80 * SECOND, 90 * SECOND} == set(seen.times(AppendFailed))
    assert 100 * SECOND < dropped.at_us < 101 * SECOND


def test_offsets_whose_tombstones_die_with_the_broker_have_not_vanished():
    """The next coordinator finds them, and lets them expire itself."""
    dies = '[[fault]]\ncrash_broker = "coordinator of g"\nat = "80s"\ndelay = "100us"'
    seen = offsets_expire(dies)
    (dropped,) = seen.all(OffsetsDropped)

    assert 89 * SECOND < dropped.at_us
