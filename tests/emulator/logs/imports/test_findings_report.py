"""Findings on a terminal, as a page, and as Parquet: what is in them, and what is not."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

import pyarrow.parquet as pq
import pytest

from emulator.logs.imports.exploring import explore
from emulator.logs.imports.findings_tables import SCHEMAS, FindingsFiles
from emulator.logs.imports.folder import explore_folder, explore_group, groups_in
from emulator.logs.imports.notices import notices, weight
from emulator.logs.imports.page import findings_page, pictures_of
from emulator.logs.imports.screen import Shortlist, findings_screen, member_table, notice_lines
from emulator.report.pages.charts import draw_plot

from .found import DAY_MS, WEEK_MS, Log, kept, member

MINUTE = 60_000


def troubled(group: str = "billing") -> Log:
    """Write a group that has everything: rewinds, flapping, expired sessions, idle members."""
    log = Log(group)
    log.generation(0, 1, member("a", 0), member("b", 1), member("c"))
    log.steadily(5_000, 10 * MINUTE, 0, 1)
    log.commit(10 * MINUTE, 100, 1)
    for number in range(4):
        at_ms = 11 * MINUTE + number * 2 * MINUTE
        log.generation(at_ms, 2 + 2 * number, member("a", 0, 1), member("c"))
        log.steadily(at_ms + 5_000, at_ms + MINUTE, 0)
        log.generation(at_ms + MINUTE, 3 + 2 * number, member("a", 0), member("b", 1), member("c"))
        log.steadily(at_ms + MINUTE + 5_000, at_ms + 2 * MINUTE, 0, 1)
    return log


def shortlist_of(*logs: Log) -> Shortlist:
    shortlist = Shortlist()
    for log in sorted(logs, key=lambda each: each.group):
        shortlist.add(log.found())
    return shortlist


def quiet(group: str = "quiet") -> Log:
    log = Log(group)
    log.generation(0, 1, member("a", 0))
    log.steadily(5_000, MINUTE, 0)
    return log


def test_the_group_to_look_at_comes_first():
    """It is described in sentences; a group without trouble is only a row."""
    text = "\n".join(findings_screen(shortlist_of(quiet("a-quiet-one"), troubled())))

    assert "2 groups, 1 with notices" in text
    assert text.index("| billing ") < text.index("| a-quiet-one ")
    assert "! committed offsets went backwards 1 time: 11,800 records to reprocess" in text
    assert "orders-1 at 1970-01-01 00:10:00: 11,900 to 100 (11,800 records)" in text
    assert "b (10.0.0.7) returned 4 times" in text
    assert "1 member without a partition: c (10.0.0.7)" in text
    assert "9 rebalances" in text
    assert "1 group without notices." in text


def test_lines_fit_into_a_report():
    """But for the table, whose lines stay whole."""
    lines = [
        line
        for line in findings_screen(shortlist_of(troubled("x" * 30)))
        if not line.startswith("|")
    ]

    assert max(map(len, lines)) <= 100


def test_members_have_their_cadence():
    """The busiest first; sums over their partitions."""
    log = Log()
    log.generation(0, 1, member("a", 0), member("b", 1, 2))
    log.steadily(0, MINUTE, 0, 1, 2)
    (head, first, second), _ = member_table(log.found())

    assert "commits every" in head
    assert ("b (10.0.0.7)", "2", "24", "2,200", "40", "5 s", "5 s") == first
    assert ("a (10.0.0.7)", "1", "12", "1,100", "20", "5 s", "5 s") == second


def test_offsets_that_expire_soon_have_the_remaining_time():
    """The weekend is nearly over."""
    log = quiet()
    log.generation(MINUTE, 2)
    found = log.found(retention_ms=WEEK_MS, end_ms=6 * DAY_MS)
    (notice,) = [each for each in notices(found) if each.weight]

    assert "offsets expire in 24 h 1 min" == notice.short
    assert "from 1970-01-08 00:01:00 on" in notice.words


def test_a_shortlist_keeps_the_worst_of_many():
    """Memory does not grow with the groups."""
    shortlist = Shortlist(most=3)
    bad, good = troubled().found(), quiet().found()
    for number in range(50):
        shortlist.add(bad if number == 30 else good)

    assert (50, 1, 3) == (shortlist.groups, shortlist.troubled, len(shortlist.first()))
    assert bad is shortlist.first()[0]


def test_rebalances_an_hour_are_drawn_by_reason():
    """Of a group that was seen for an hour with members, or longer."""
    log = troubled()
    log.steadily(20 * MINUTE, 180 * MINUTE, 0)
    log.generation(180 * MINUTE, 90, member("a", 0))
    found = log.found()
    (picture,) = [each for each in pictures_of(found) if each.title == "Rebalances an hour"]
    counts = {
        (series.name, bar.begin): bar.value - bar.base
        for series in picture.series
        for bar in series.bars
    }

    assert found.pace.rebalances == sum(counts.values())
    assert {0, 180 * MINUTE} == {begin for _, begin in counts}


def test_the_worst_hour_has_its_reasons():
    """Its start, and the reasons of its rebalances."""
    text = "\n".join(notice.words for notice in notices(troubled().found()))

    assert "9 rebalances; 9 within the hour from 1970-01-01 00:00:00: 4 member" in text


def test_every_picture_can_be_drawn():
    """Generations, committed offsets, cadence; a rewind is marked."""
    shown = list(pictures_of(troubled().found()))

    assert [
        "Members over time, with each generation",
        "Committed offsets of each partition over time",
        "Commit cadence",
    ] == [each.title for each in shown]
    assert all(ET.fromstring(draw_plot(picture).figure) is not None for picture in shown)
    assert "rewind" in [series.name for series in shown[1].series]
    assert "rewind" in [name for _, name in draw_plot(shown[1]).legend]


def test_the_page_begins_with_the_group_to_look_at_first():
    """In a sentence, with five figures, and in a table that links to its part."""
    shortlist = shortlist_of(quiet(), troubled())
    page = findings_page(shortlist)

    assert "1 of 2 groups with notices; look first at billing: " in page
    assert 5 == page.count("<dd>")
    assert page.index('href="#group-0">billing') < page.index('href="#group-1">quiet')
    assert "2 groups, none with a notice." in findings_page(shortlist_of(quiet("a"), quiet("b")))


def test_notices_of_the_page_are_wrapped_by_the_browser():
    """Lines that were wrapped for a terminal would be broken again on a phone."""
    shortlist = shortlist_of(troubled())
    (shown,) = re.findall(r'<pre tabindex="0">(.*?)</pre>', findings_page(shortlist), re.DOTALL)[:1]
    (found,) = shortlist.first()

    assert 100 < max(map(len, unescape(shown).splitlines()))
    assert "\n".join(notice_lines(found)).split() == unescape(shown).split()


def test_the_page_loads_nothing():
    """No address that a browser could fetch, and none would be allowed."""
    page = findings_page(shortlist_of(troubled(), quiet()))

    assert set() == set(re.findall(r"https?://(?!www\.w3\.org/)[^\s\"']*", page))
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)
    assert "default-src 'none'" in page
    assert page == findings_page(shortlist_of(troubled(), quiet()))


def test_names_from_a_log_are_text_on_the_page():
    """A group name could contain markup."""
    page = findings_page(shortlist_of(troubled("</script><b>x")))

    assert "</script><b>x" not in page
    assert "&lt;/script&gt;&lt;b&gt;x" in page


def test_tables_hold_what_was_found(tmp_path):
    """A file a table; every row names its group."""
    found = troubled().found()
    with FindingsFiles(tmp_path) as files:
        files.add(quiet().found())
        files.add(found)
    tables = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in SCHEMAS}

    assert SCHEMAS == {name: table.schema for name, table in tables.items()}
    assert ["quiet", "billing"] == tables["groups"]["group"].to_pylist()
    assert [None, ["b (10.0.0.7)"]] == [
        each or None for each in tables["groups"]["flapping"].to_pylist()
    ]
    assert [100] == tables["rewinds"]["to_offset"].to_pylist()
    assert len(found.changes) + 1 == len(tables["rebalances"])
    assert len(found.cadence) + 1 == len(tables["cadence"])


def test_an_interrupted_report_leaves_no_table(tmp_path):
    """Half a table would look like a whole one."""

    def break_off() -> None:
        with FindingsFiles(tmp_path) as files:
            files.add(quiet().found())
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        break_off()

    assert [] == list(tmp_path.iterdir())


def test_a_folder_says_the_same_in_however_many_lots(tmp_path):
    """Groups are taken some at a time; what holds for all of the import is the same for each."""
    commits, groups = kept()
    for name, table in (("commits", commits), ("groups", groups)):
        (tmp_path / name).mkdir()
        pq.write_table(table.slice(0, len(table) // 2), tmp_path / name / "one.parquet")
        pq.write_table(table.slice(len(table) // 2), tmp_path / name / "two.parquet")
    whole = list(explore(commits, groups))
    wanted = whole[-1].group
    alone, rows = explore_group(tmp_path, wanted)

    assert len(whole) >= 4
    assert whole == list(explore_folder(tmp_path))
    assert whole == list(explore_folder(tmp_path, max_rows=1))
    assert [each.group for each in whole] == groups_in(tmp_path)
    assert (whole[-1], {wanted}) == (alone, {row["group"] for row in rows})
    assert explore_group(tmp_path, "nobody") is None


def test_a_large_group_is_gone_through_some_partitions_at_a_time(tmp_path):
    """Several topics, owners of partitions without a commit: the same comes out."""
    log = troubled()
    log.generation(30 * MINUTE, 10, member("a", 0, 1, 5))
    log.commit(31 * MINUTE, 7, 1, topic="a-refunds")
    for name, table in zip(("commits", "groups"), log.tables, strict=True):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "all.parquet")

    assert [log.found()] == list(explore_folder(tmp_path, max_rows=1))


def test_an_empty_folder_has_no_groups(tmp_path):
    """Nothing was read, or nothing was wanted."""
    assert [] == list(explore_folder(tmp_path))


def test_a_healthy_group_has_no_weight():
    """Weight is trouble."""
    assert 0 == weight(quiet().found())
