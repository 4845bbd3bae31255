"""An entry of the ledger on a screen, with the story behind it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.ledger.entries import Entry, EntryKind, Owner
from emulator.report.screens.entry import Line, entry_screen

SECOND = 1_000_000
ENTRY = Entry(
    id="D1",
    kind=EntryKind.REPROCESSED,
    group="billing",
    topic="orders",
    topic_id="T",
    log_incarnation=0,
    partition=0,
    first=0,
    last=9,
    cause=None,
    detail="",
    root=None,
    first_owner=None,
    second_owner=None,
    chain=(),
)


def story(*lines):
    """Return the lines of a story as they are shown, times in seconds."""
    shown = entry_screen("title", ENTRY, lines, lambda at_us: f"{at_us // SECOND}s")
    return [line for line in shown if line.lstrip()[:1].isdigit()]


def work(end_s, began_s):
    return Line(end_s * SECOND, "a processes 0..9", 1, began_us=began_s * SECOND)


def test_work_beside_other_events_has_its_start():
    """A line is at the end of its work: earlier lines seem to come before the work."""
    fault = Line(3 * SECOND, "a broker goes down", 0)

    assert "  5s   a processes 0..9, started at 1s" == story(fault, work(5, 1))[-1]


def test_work_without_other_events_has_only_its_end():
    """Events before its start, or at its very end, are in their place."""
    before, same = Line(1 * SECOND, "a begins", 0), Line(5 * SECOND, "a crashes", 1)

    assert "  5s   a processes 0..9" == story(before, same, work(5, 1))[-1]


@pytest.mark.parametrize(("incarnation", "name"), [(1, "a"), (2, "a (start 2)")])
def test_records_that_are_gone_have_an_owner_who_never_had_them(incarnation, name):
    """They had no owner at any time, so no time is shown."""
    owner = Owner("a", incarnation, 1, 9 * SECOND)
    gone = replace(ENTRY, kind=EntryKind.TRUNCATED, first_owner=owner)
    shown = list(entry_screen("title", gone, (), lambda at_us: f"{at_us // SECOND}s"))

    assert f"    owner:    {name}" in shown
    assert [] == [line for line in shown if "first:" in line or "then:" in line]
