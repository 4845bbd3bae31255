"""What a run says about its own length, its timeline, and about columns without a value."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

import pytest

from emulator import events as ev
from emulator.report.screens.run import folded_text, what_happened
from emulator.report.timeline import DISTINCT, Timeline, TimelineEntry, shortened

from ..cli.commands import CRASH, rebalance, written

OPEN_ENDED = CRASH.replace('run_for = "40s"\n', "")


def test_a_run_without_run_for_says_how_long_it_lasted(tmp_path):
    """And that its effects were complete; one with an end of its own does not."""
    lines = rebalance("run", written(tmp_path, OPEN_ENDED)).out.splitlines()

    assert any(
        line.startswith("The run lasted 1 min")
        and "until all faults had ended, every group was" in line
        for line in lines
    )
    assert "The run lasted" not in rebalance("run", written(tmp_path, CRASH)).out


def test_a_run_that_ends_at_its_limit_says_that_it_has_not_settled(tmp_path):
    """An overloaded group never does, although nothing about the run is inconclusive."""
    text = CRASH.replace('run_for = "40s"', 'run_for = "90s"\nuntil_settled = true')
    overloaded = text.replace('rate = "', 'rate = "9')
    screen = " ".join(rebalance("run", written(tmp_path, overloaded)).out.split())

    assert "The run lasted 1 min 30 s, its limit, without settling: some group is" in screen
    assert "per second (rate is that of each of" in screen


LATEST = "group[green].settings[auto.offset.reset]=latest"


@pytest.mark.parametrize(
    ("given", "said"),
    [((), "5,400 records were processed by both groups, none"), (("--set", LATEST), r"\d[\d,]*")],
)
def test_a_new_group_id_has_its_cost_in_the_first_lines(given, said):
    """Nobody read anything between the two groups, and no ledger of one group says so."""
    out = " ".join(rebalance("run", "a6-new-group-id", *given).out.split())

    assert re.search(f"reprocessed within a group, none were lost; .*{said} by neither\\.", out)
    assert re.search(
        r"handover \d+(\.\d+)? s at most in one partition between the last record", out
    )


def lines(kind: str, number: int, *, are_consequences: bool = False) -> list[TimelineEntry]:
    return [
        TimelineEntry(f"{kind} {each}", 0, 0, is_consequence=are_consequences, kind=kind)
        for each in range(number)
    ]


def test_a_timeline_that_is_cut_keeps_lines_of_each_kind():
    """One line more is shown instead of being left out; the first fault or act always stays."""
    acts = lines("restart", 9)
    removed = lines("removal", 9, are_consequences=True)
    many = [*lines("poison", 300), *acts, *removed, *lines("crash", 1)]
    shown, left_out = shortened(many, 8)

    assert (acts, []) == shortened(acts, 8)
    assert ([*acts[:7], removed[0]], acts[7:]) == shortened([*acts, removed[0]], 8)
    assert ([acts[0], *removed[:7]], removed[7:]) == shortened([acts[0], *removed], 8)
    assert [
        "poison 0",
        *(each.text for each in acts[:3]),
        *(each.text for each in removed[:3]),
    ] == [each.text for each in shown[:-1]]
    assert "crash 0" == shown[-1].text
    assert Counter(poison=299, restart=6, removal=6) == Counter(each.kind for each in left_out)


def test_lines_that_are_left_out_are_counted_by_kind():
    """With those that were not kept: a run of a year has thousands."""
    timeline = Timeline()
    for at in range(DISTINCT + 50):
        began = ev.FaultBegan(fault=f"f{at}", verb="restart", target=f"m{at}")
        timeline.feed(ev.Event(at, at, None, began, at))
    crash = ev.FaultBegan(fault="late", verb="crash", target="m")
    timeline.feed(ev.Event(9_999, 9_999, None, crash, 9_999))
    run = SimpleNamespace(
        timeline=timeline, metrics={"rebalances": 0}, subject=SimpleNamespace(moment=str)
    )
    text = " ".join(what_happened(run))

    assert "m crashes" in text
    assert "… and 243 more: restart (243)" in text


def test_a_column_without_a_takeover_has_no_value(tmp_path):
    """Not one of zero seconds."""
    longer = "late: group[billing].settings[session.timeout.ms]=60s"
    table = rebalance("compare", written(tmp_path, CRASH), "--with", longer).out
    (takeover,) = [line for line in table.splitlines() if "takeover, first" in line]

    assert ["none", "none"] == [cell.strip() for cell in takeover.split("|")[3:5]]


def test_an_error_in_an_act_names_the_table_of_the_file(tmp_path):
    """Not that of a fault, although both mean the same."""
    text = CRASH.replace("[[fault]]", "[[act]]").replace('at = "18s"', 'att = "18s"')
    answer = rebalance("run", written(tmp_path, text))

    assert 2 == answer.status
    assert 'act[crash-1].att = "18s": unknown key' in answer.err


def test_the_parts_of_the_members_time_add_up():
    """The reasons that are not shown are one part."""
    parts = re.findall(r"([0-9.]+)%", folded_text(0.9, {"a": 0.05, "b": 0.03, "c": 0.02}))

    assert 100 == sum(float(part) for part in parts)


@pytest.mark.parametrize(("key", "unit"), [("", "records"), ("transaction_records = 3", "offsets")])
def test_lag_of_a_topic_with_markers_counts_offsets(tmp_path, key, unit):
    """In the figures, and in what is said of a group that is dead."""
    text = CRASH.replace("[[topic]]", f"[[topic]]\n{key}").replace('"earliest"', '"none"')
    screen = rebalance("run", written(tmp_path, text)).out.replace("\n    ", "")

    assert re.search(rf"  lag +[0-9,]+ {unit} at most", screen)
    assert re.search(rf"nothing was processed, and [0-9,]+ {unit} waited", screen)
    assert re.search(rf"none runs any more, and [0-9,]+ {unit} waited", screen)


def test_an_example_counts_the_entries_of_its_cause(tmp_path):
    """Beside the number of all entries of the ledger."""
    out = rebalance("run", "f3-commit-every-n").out

    assert "(one of 2 such entries)" in " ".join(out.split())
    assert "All 2 entries: " in out
