"""Producers that repeat requests: copies in the topic are told from duplicates of processing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.metrics.copies import CopyRule
from emulator.scenario.keys import factors_of
from emulator.scenario.load import loads
from emulator.scenario.model import Group, Member, Repeats, Scenario, Topic
from emulator.scenario.problems import ScenarioError
from emulator.scenario.tables.distributions import Keys
from emulator.world.consumer.handling.record_identity import Identities

WORLD = """
title = "copies"
run_for = "30s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
repeats = {repeats}
[[group]]
id = "g"
topics = ["t"]
members = 2
work = "1ms"
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = "6s" }}
{group}
[[fault]]
crash = "g-1"
at = "12s"
restart_after = "1s"
"""
FIVE_OF_FIFTY = "{ records = 5, of = 50 }"


def played(group="", repeats=FIVE_OF_FIFTY):
    return emulator.run(loads(WORLD.format(repeats=repeats, group=group)), 0)


@given(st.integers(1, 6), st.integers(0, 10), st.integers(0, 90))
def test_copies_are_counted_as_they_are_placed(records, more, end):
    """The count of the metric and the place of each copy are two views of one rule."""
    of = 2 * records + more
    repeats = Repeats(records=records, of=of)
    copies = [offset for offset in range(end) if repeats.original(offset) != offset]

    assert len(copies) == CopyRule(records, of).before(end)
    assert all(repeats.original(repeats.original(copy)) == copy - records for copy in copies)


def test_copies_are_no_duplicates_of_the_group():
    """Each counts once, however often the group processes it; the ledger counts as without them."""
    run = played()
    plain = emulator.run(
        loads(
            WORLD.format(repeats=FIVE_OF_FIFTY, group="").replace(
                f"repeats = {FIVE_OF_FIFTY}\n", ""
            )
        ),
        0,
    )

    assert 0 < plain.ledger.reprocessed == run.ledger.reprocessed
    assert plain.digest == run.digest
    assert (0, 60) == (plain.metrics["copies_processed"], run.metrics["copies_processed"])
    assert [30, 30] == [*run.metrics.tables["copies_processed.by_partition"].values()]


@pytest.mark.parametrize(("by", "copies"), [("id", 60), ("offset", 0)])
def test_a_seen_set_recognises_copies_by_their_id(by, copies):
    """Besides what the group processes again; one of offsets does not know them."""
    run = played(f'deduplication = {{ by = "{by}" }}')

    assert 0 == run.metrics["not_deduplicated"]
    assert run.ledger.reprocessed + copies == run.metrics["deduplicated"]


@pytest.mark.parametrize(
    ("repeats", "reason"),
    [
        ("{ records = 30, of = 50 }", "more than"),
        ("{ record = 30, of = 50 }", 'did you mean "records"'),
        (f"{FIVE_OF_FIFTY}\ntransaction_records = 3", "cannot be combined"),
    ],
)
def test_what_cannot_be_is_refused(repeats, reason):
    """With the reason, and the nearest name."""
    with pytest.raises(ScenarioError) as refused:
        played(repeats=repeats)

    assert reason in str(refused.value)


def identities(topic):
    group = Group(id="g", topics=["t"], members=[Member(name="a")])
    return Identities(Scenario(title="one topic", run_for=1, topic=[topic], group=[group]), 0)


def test_a_copy_has_the_key_and_the_id_of_its_original():
    """Other records have ids of their own."""
    known, tp = (
        identities(Topic(name="t", repeats=Repeats(records=2, of=10))),
        TopicPartition("t", 0),
    )

    assert [6, 7, 6, 7, 10] == [known.original(tp, offset) for offset in range(6, 11)]
    assert known.key(tp, 6) == known.key(tp, 8)
    assert known.key(tp, 7) == known.key(tp, 9)


def test_keys_of_a_topic_are_as_frequent_as_it_says():
    """A partition has its own keys only, and the hot one as often as its share."""
    keys = Keys(count=50, hot={"big": 0.4})
    topic = Topic(name="t", partitions=4, keys=keys)
    known = identities(topic)
    found = {
        n: Counter(known.key(TopicPartition("t", n), o) for o in range(4_000)) for n in range(4)
    }
    (home,) = [number for number, counter in found.items() if "big" in counter]

    assert not set.intersection(*(set(counter) for counter in found.values()))
    assert 51 == len(set().union(*found.values()))
    assert 0.4 * 4 / factors_of(topic)[home] == pytest.approx(found[home]["big"] / 4_000, abs=0.03)
