"""Work that depends on the topic, on lag, on other records in work, and on batches."""

from __future__ import annotations

import tomllib

import pytest

import emulator
from emulator.events import Processed, ProcessedOutOfOrder
from emulator.scenario.estimates.loads import loads_of
from emulator.scenario.part import ScenarioError
from tests.emulator.modes.both_ways import hold_both_ways

TEXT = """
title = "work by context"
run_for = "30s"
[[topic]]
name = "heavy"
rate = "10/s"
[[topic]]
name = "light"
rate = "10/s"
[[group]]
id = "g"
topics = ["heavy", "light"]
members = 2
work = "1ms"
settings = {{ "auto.offset.reset" = "earliest", "partition.assignment.strategy" = "roundrobin" }}
work_by = {{ {} }}
"""


def worked(text: str) -> dict[str, list[int]]:
    """Return how long each record took (us), by topic, in order."""
    found: dict[str, list[int]] = {"heavy": [], "light": []}
    for event in emulator.run(emulator.loads(text)).events:
        what = event.what
        one = isinstance(what, Processed | ProcessedOutOfOrder)
        if one and what.next_offset == what.first + 1:
            found[what.partition.topic].append(event.at_us - what.began_us)
    return found


def times(work_by: str) -> dict[str, list[int]]:
    """Return the same for a group that commits each record: its processing is an event."""
    per_record = TEXT.replace('work = "1ms"', 'work = "1ms"\ncommit = "async per record"')
    return worked(per_record.format(work_by))


def test_the_records_of_a_topic_take_its_time():
    assert {"heavy": {20_000}, "light": {1_000}} == {
        topic: set(each) for topic, each in times('topic = { heavy = "20ms" }').items()
    }


def test_a_record_with_more_records_behind_it_takes_longer():
    """Of the 10 records of a second that a member of 90 ms cannot keep up with, later ones wait."""
    found = times(
        'topic = { heavy = "90ms" }, lag = [{ above = 1, factor = 2 }, { above = 9, factor = 3 }]'
    )

    assert {1_000} == set(found["light"][100:])
    assert {90_000, 180_000, 270_000} == set(found["heavy"])
    assert 270_000 == found["heavy"][-1]


def test_a_record_takes_longer_while_others_are_in_work():
    found = times('topic = { heavy = "500ms" }, concurrency = { free = 1, each = 0.5 }')

    assert {1_500} == set(found["light"][3:])
    assert {500_000} == set(found["heavy"])


def test_workers_of_one_member_slow_one_another_down():
    """All eight are busy: each record that begins takes eight times as long, two end in a second."""
    text = TEXT.replace("members = 2", 'members = 1\nhandler = {{ workers = 8, order = "none" }}')
    text = text.replace('work = "1ms"', 'work = "500ms"')
    alone, crowded = (
        emulator.run(emulator.loads(text.format(given))).metrics["processed"]
        for given in ('batch = "0s", topic = { heavy = "500ms" }', "concurrency = { each = 1 }")
    )

    assert 16 * 25 <= alone <= 16 * 27
    assert 2 * 25 <= crowded <= 2 * 29


@pytest.mark.long
def test_a_batch_takes_its_time_before_the_first_record():
    assert {1_000, 6_000} >= set(times('batch = "5ms"')["light"])
    assert 6_000 in times('batch = "5ms"')["light"]


@pytest.mark.parametrize("given", ['topic = { heavy = "20ms" }', 'batch = "3ms"'])
def test_both_modes_agree(given):
    fault = '[[fault]]\ncrash = "g-1"\nat = "11s"\nrestart_after = "2s"\n'
    hold_both_ways(tomllib.loads(TEXT.format(given) + fault))


def test_the_line_of_modes_says_why_polls_are_events():
    run = emulator.run(emulator.loads(TEXT.format("concurrency = { each = 1 }")))

    assert 0 == run.folded.share
    assert (
        "the time of a record depends on lag, or on other records in work"
        in run.folded.live_shares()
    )


def test_the_load_counts_the_work_of_topics_and_of_shared_resources():
    (by_topic,) = loads_of(emulator.loads(TEXT.format('topic = { heavy = "9ms" }')))
    (crowded,) = loads_of(emulator.loads(TEXT.format("concurrency = { each = 3 }")))

    assert 400 == pytest.approx(by_topic.capacity)
    assert (500, 1, 1_000) == pytest.approx((crowded.capacity, crowded.best_members, crowded.best))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "says nothing"),
        ('topic = { hevy = "20ms" }', "heavy"),
        ("lag = [{ above = 9, factor = 2 }, { above = 5, factor = 3 }]", "has to grow"),
        ("concurency = { each = 1 }", "concurrency"),
        ("concurrency = { each = 0 }", "each"),
    ],
)
def test_what_makes_no_sense_is_refused(given, problem):
    with pytest.raises(ScenarioError, match=problem):
        emulator.loads(TEXT.format(given))


def test_a_pool_has_no_batches():
    text = TEXT.replace("members = 2", "members = 2\nhandler = {{ workers = 2 }}")
    with pytest.raises(ScenarioError, match="a pool of workers has no batches"):
        emulator.loads(text.format('batch = "5ms"'))
