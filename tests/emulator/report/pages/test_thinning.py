"""Many partitions and rebalances are reduced by time: what matters stays, and the page says so."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import pairwise

import pytest

from assignors.types import TopicPartition
from emulator.ledger.entries import EntryKind
from emulator.report.pages.canvas import Canvas
from emulator.report.pages.drawing import WIDTH, TimeScale
from emulator.report.pages.faults import fault_lines
from emulator.report.pages.history import GroupHistory, History, Moment, Sample, Span
from emulator.report.pages.marks import Mark
from emulator.report.pages.owner_names import owner_name
from emulator.report.pages.thinning import (
    MAX_SAMPLES,
    Piece,
    rows_of,
    samples_within,
    thin_samples,
)
from emulator.report.pages.timeline import View, draw_timeline

TP = TopicPartition("orders", 0)


def alternating(changes, length_us=100, offset=0, members=7):
    """Return owners that take turns."""
    return [
        Span(at * length_us, (at + 1) * length_us, f"m-{(at + offset) % members}")
        for at in range(changes)
    ]


def test_few_changes_stay_exact():
    """Gaps and two owners at once are found between the owners."""
    spans = [Span(0, 50, "a"), Span(40, 60, "b"), Span(80, 90, "b")]
    (row,) = rows_of({TP: spans}, 0, 100, 100).rows

    assert [("a", 0, 50), ("b", 40, 60), ("b", 80, 90)] == [
        (piece.owner, piece.begin_us, piece.end_us) for piece in row.pieces
    ]
    assert [(60, 80), (90, 100)] == [(gap.begin_us, gap.end_us) for gap in row.gaps]
    assert [(40, 50, "a and b")] == [tuple(each) for each in row.doubles]


def test_a_short_gap_survives_a_coarse_step():
    """Where owners change more often than can be drawn, the longest of a step is shown."""
    spans = [Span(0, 70, "a"), Span(70, 100, "b"), Span(102, 1000, "c")]
    thin = rows_of({TP: spans * 10}, 0, 1000, 10)

    assert 100 == thin.step_us
    assert ["a", "c"] == [piece.owner for piece in thin.rows[0].pieces]
    assert thin.merged > 0
    assert 5 == thin.part_us
    gap = rows_of({TP: [Span(0, 101, "a"), Span(102, 1000, "c")] * 6}, 0, 1000, 5).rows[0].gaps
    assert (100, 105) == (gap[0].begin_us, gap[0].end_us)


def test_many_short_gaps_leave_room_for_the_owners_between_them():
    """A member that is restarted once in each step does not make the row look as if nobody owned it."""
    spans = [Span(at * 100 + 1, (at + 1) * 100, "ab"[at % 2]) for at in range(1_000)]
    thin = rows_of({TP: spans}, 0, 100_000, 400)
    shown_us = sum(gap.end_us - gap.begin_us for gap in thin.rows[0].gaps)

    assert len(thin.rows[0].gaps) > 30
    assert shown_us < 0.2 * 100_000


def test_a_row_of_many_gaps_is_reduced_however_few_pieces_there_are():
    """Their outlines would cover the owners between them on a phone."""
    spans = [Span(at * 100 + 1, (at + 1) * 100, "a") for at in range(100)]

    assert 0 == rows_of({TP: spans[:30]}, 0, 10_000, 1_000).step_us
    assert len(rows_of({TP: spans}, 0, 10_000, 1_000).rows[0].gaps) < 40


def test_a_long_gap_keeps_its_place():
    """Also across several steps, to a part of a figure that can be seen."""
    spans = [Span(at, at + 1, "ab"[at % 2]) for at in range(2_000)]
    spans += [Span(at, at + 1, "ab"[at % 2]) for at in range(6_005, 10_000)]
    thin = rows_of({TP: spans}, 0, 10_000, 20)

    assert (500, 50) == (thin.step_us, thin.part_us)
    assert [(2_000, 6_000)] == [(gap.begin_us, gap.end_us) for gap in thin.rows[0].gaps]


def test_rows_equal_to_the_one_above_cost_no_detail():
    """Partitions that change owners together are drawn as one, in steps as fine as those of one."""
    one = rows_of({TP: alternating(1_000)}, 0, 100_000, 500)
    many = rows_of(
        {TopicPartition("orders", at): alternating(1_000) for at in range(50)}, 0, 100_000, 500
    )

    assert one.step_us == many.step_us == 200
    assert [row.pieces for row in one.rows] * 50 == [row.pieces for row in many.rows]


def dealt(partitions, members):
    """Return owners of partitions that are dealt out like cards, as by roundrobin."""
    return {
        TopicPartition("orders", at): [Span(0, 100, f"m-{at % members}")]
        for at in range(partitions)
    }


def test_thin_rows_of_one_owner_are_together():
    """Rows of a pixel with an owner each would be noise; those that can be told apart stay in order."""
    few, many = (rows_of(dealt(number, 24), 0, 100, 10_000) for number in (125, 1_000))
    names = [row.name for row in many.rows]
    runs = sum(one.pieces != other.pieces for one, other in pairwise(many.rows))

    assert [f"orders-{at}" for at in range(125)] == [row.name for row in few.rows]
    assert ["orders-0", "orders-24", "orders-48"] == names[:3]
    assert (1_000, 23) == (len({*names}), runs)
    assert (False, True) == (few.is_grouped, many.is_grouped)


def test_thin_rows_that_are_in_groups_keep_their_order():
    """As by range: nothing is said of them."""
    ranges = {TopicPartition("orders", at): [Span(0, 100, f"m-{at // 50}")] for at in range(1_000)}
    rows = rows_of(ranges, 0, 100, 10_000)

    assert [f"orders-{at}" for at in range(1_000)] == [row.name for row in rows.rows]
    assert not rows.is_grouped


def test_the_name_of_an_owner_keeps_clear_of_marks():
    """It is drawn behind a mark that would cover it at its beginning, and before a mark further on."""
    canvas = Canvas(TimeScale(0, 1_000, WIDTH), str)
    piece = Piece(0, 1_000, "billing-0")
    canvas.marked = {"near": [30.0], "far": [900.0], "many": [30.0, 700.0]}

    begins = {
        row: re.search(r'x="(\S+)%".* dx="(\d+)"', owner_name(canvas, row, piece, 10)).groups()
        for row in ("none", *canvas.marked)
    }
    assert {
        "none": ("0", "4"),
        "near": ("3", "12"),
        "far": ("0", "4"),
        "many": ("3", "12"),
    } == begins


def test_faults_that_are_drawn_lie_over_the_whole_run():
    """Not the first of many of equal length; the caption has both numbers."""
    canvas = Canvas(TimeScale(0, 1_000, WIDTH), str)
    lines, faults = fault_lines(canvas, [Moment(at, at, "crash", "crash a") for at in range(1_000)])

    places = [float(x) for x in re.findall(r'x1="([\d.]+)%"', lines)]
    assert 60 == len(places) == len(faults)
    assert max(after - before for before, after in pairwise([0, *places, 100])) < 4
    assert ["60 of 1,000 faults and acts are drawn. Left out: crash (940)."] == canvas.notes


def test_long_pauses_and_failing_records_do_not_push_crashes_and_restarts_out():
    """The only crash is drawn, then as many restarts as pauses; records that fail make room."""
    canvas = Canvas(TimeScale(0, 10_000, WIDTH), str)
    pauses = [Moment(at, at + 50, "pause", f"pause {at}") for at in range(0, 9_000, 100)]
    short = [
        Moment(at, at, verb, f"{verb} {at}")
        for verb, times in (("restart", 200), ("poison", 500), ("crash", 1))
        for at in range(7, 7 + 10 * times, 10)
    ]
    _, faults = fault_lines(canvas, sorted([*pauses, *short]))
    drawn = Counter(words.split()[1] for _, words in faults)

    assert {"crash": 1, "pause": 30, "restart": 29} == drawn
    assert [
        "60 of 791 faults and acts are drawn. Left out: poison (500), restart (171), pause (60)."
    ] == canvas.notes


def test_samples_keep_their_extremes():
    """A peak of one sample is not lost."""
    samples = [Sample(at, 1_000 if at == 7_777 else 10, 0, 0) for at in range(10_000)]
    thinned = thin_samples(samples)

    assert len(thinned) <= MAX_SAMPLES + 2
    assert 1_000 == max(sample.log_end for sample in thinned)
    assert (0, 9_999) == (thinned[0].at_us, thinned[-1].at_us)


@pytest.mark.soak
@pytest.mark.long
def test_a_thousand_partitions_with_a_thousand_rebalances_fit():
    """Into 1.5 MB, in a time that nobody waits for; the caption says what is not shown.

    Few shapes make it smooth. The page of a run with 1,000 partitions, 987 rebalances and 1,455 entries
    (1.31 MB, 15,703 elements) opened in 0.6 s in a headless Chromium and scrolled at 60 frames a second.
    """
    group = GroupHistory("billing")
    for number in range(1_000):
        spans = alternating(250, offset=number, members=30)
        group.owners[TopicPartition("orders", number)] = spans
    group.rebalances = [Span(at * 100, at * 100 + 30, "a member joined") for at in range(1_000)]
    for number in range(60):
        states = [("member", "not a member")[at % 2] for at in range(1_000)]
        group.members[f"m-{number}"] = [
            span._replace(name=state)
            for span, state in zip(alternating(1_000), states, strict=True)
        ]
    begun = time.process_time()
    drawing = draw_timeline(group, History(end_us=100_000), [], str, View(name="timeline"))

    assert len(drawing.figure) + len(drawing.labels) < 1_000_000
    assert drawing.figure.count("<") < 10_000
    assert time.process_time() - begun < 60
    assert any("shorter changes are not visible" in note for note in drawing.notes)
    formed = "rebalances, with the one in which the group formed, are drawn"
    assert any(formed in note for note in drawing.notes)
    bands = re.findall(r'<rect class="rebalance" x="([\d.]+)%"', drawing.figure)
    assert float(bands[0]) < 1
    assert float(bands[-1]) > 99
    assert any("states of members are drawn, the longest ones" in note for note in drawing.notes)


def test_curves_reach_both_ends_of_a_window_between_two_samples():
    """A close-up of a second has a line although samples are a second apart."""
    samples = [Sample(at * 1_000_000, 10 * at, 8 * at, 6 * at) for at in range(5)]

    found = samples_within(samples, 1_200_000, 1_700_000)

    assert [(1_200_000, 12, 10, 7), (1_700_000, 17, 14, 10)] == [tuple(one) for one in found]
    assert samples[1:4] == samples_within(samples, 1_000_000, 3_000_000)[1:-1]
    assert samples == samples_within(samples, 0, 9_000_000)


@pytest.mark.parametrize(
    ("moment", "unit"), [("0:00:01.000", "h:mm:ss"), ("1.000 s", "s"), ("2026-05-04 09:00", "UTC")]
)
def test_the_time_axis_names_its_unit(moment, unit):
    """That of its labels: an audit without a clock counts seconds."""
    drawn = draw_timeline(
        GroupHistory("g"), History(end_us=10), [], lambda _: moment, View(name="of g")
    )

    assert f">time ({unit})<" in drawn.labels


def test_a_name_begins_behind_the_mark_at_the_begin_of_its_piece():
    """A mark is wider than a letter, and would cover it; other names begin where their piece does."""
    owners = {TP: [Span(0, 50, "m1"), Span(50, 100, "m2")]}
    mark = Mark("L1", EntryKind.LOST, "orders-0", 3, 50, "skipped by the handler")
    drawn = draw_timeline(
        GroupHistory("billing", owners=owners), History(end_us=100), [mark], str, View(name="all")
    )
    names = re.findall(r'<text x="([^"]+)"[^>]* dx="(\d+)"[^>]*>(m\d)<', drawn.figure)

    assert [("0%", "4", "m1"), ("50%", "12", "m2")] == names


def test_equal_pieces_of_many_partitions_are_one_shape():
    """Thousands of outlines one pixel high would be a pattern of their own; nothing has two owners."""
    names = [TopicPartition("orders", number) for number in range(1_200)]
    owners = {tp: [Span(0, 400, f"m{tp.partition // 600}"), Span(500, 900, "m2")] for tp in names}
    drawn = draw_timeline(
        GroupHistory("billing", owners=owners), History(end_us=1_000), [], str, View(name="all")
    )
    shapes = dict(re.findall(r'<path d="([^"]+)" (?:class|fill)="([^"]+)"', drawn.figure))
    outlines = {look: shape.count("M") for shape, look in shapes.items()}

    assert outlines.pop("gap") == 2
    assert [1, 1, 1] == list(outlines.values())
    assert "double" not in drawn.figure
