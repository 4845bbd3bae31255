"""Deduplication behind the handler: what a seen-set recognises of the duplicates."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator.events import DuplicateDelivered, NotProcessed
from emulator.ledger.entries import Cause
from emulator.scenario.model import Deduplication
from emulator.scenario.problems import ScenarioError
from emulator.world.consumer.handling.seen_set import SeenSet

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED

SCENARIO = """
title = "duplicates"
run_for = "40s"

[[topic]]
name = "t"
partitions = 2
rate = "10/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "{work}"
deduplication = {{ {seen} }}
{group}
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }}

[[fault]]
crash = "g-1"
at = "14.3s"
"""


def run_of(seen: str, work: str = "2ms", group: str = "") -> emulator.Run:
    """Play a group whose member dies."""
    return emulator.run(emulator.loads(SCENARIO.format(seen=seen, work=work, group=group)), 0)


# -- the set ---------------------------------------------------------------------------------------


def test_a_set_forgets_by_age_or_by_number_or_never():
    by_age, by_number = SeenSet(Deduplication(window=10)), SeenSet(Deduplication(records=2))
    never = SeenSet(Deduplication())
    for now, record in enumerate(("a", "b", "c")):
        for each in (by_age, by_number, never):
            each.add(record, now)

    assert [by_age.recognises(record, 11) for record in "abc"] == [False, True, True]
    assert [by_number.recognises(record, 11) for record in "abc"] == [False, True, True]
    assert all(never.recognises(record, 1 << 50) for record in "abc")


def test_a_record_that_comes_again_counts_from_then_on():
    seen = SeenSet(Deduplication(window=10))
    seen.add("a", 0)
    seen.add("a", 8)

    assert seen.recognises("a", 15)
    assert not seen.recognises("a", 19)


# -- in a run --------------------------------------------------------------------------------------


def test_a_window_recognises_what_came_again_within_it():
    """Compared with the times of both deliveries of each record."""
    unbounded = run_of("")
    again = [e for e in unbounded.events if isinstance(e.what, DuplicateDelivered)]
    assert unbounded.metrics["deduplicated"] == unbounded.ledger.reprocessed == len(again) > 10

    short = run_of('window = "8s"')
    recognised = [e.what for e in short.events if isinstance(e.what, DuplicateDelivered)]
    arrived_us = {  # records are processed as they arrive, 10 a second in each partition
        (str(what.partition), what.offset): what.offset * 100_000 for what in recognised
    }
    ages = {
        what.recognised: [
            event.at_us - arrived_us[str(what.partition), what.offset]
            for event in short.events
            if event.what is what or event.what == what
        ]
        for what in recognised
    }
    assert max(ages[True]) <= 8_200_000
    assert min(ages[False]) >= 7_800_000
    assert short.metrics["deduplicated"] + short.metrics["not_deduplicated"] == len(again)


def test_a_set_in_memory_ends_with_its_process():
    metrics = run_of('scope = "process"').metrics

    assert metrics["deduplicated"] == 0
    assert metrics["not_deduplicated"] == metrics["reprocessed"] > 10


def test_a_record_marked_before_its_work_is_lost_if_the_process_dies_in_it():
    """Marked after it, the record is processed by the next owner."""
    before, after = (run_of(f'mark = "{mark}"', work="80ms") for mark in ("before", "after"))

    assert after.ledger.partial == before.ledger.partial == 1
    assert after.ledger.lost == 0
    assert before.ledger.by_cause()[Cause.SKIPPED] == before.ledger.lost == 1


def test_a_process_that_dies_when_it_has_sent_a_commit_has_not_marked_the_next_record():
    """The next owner processes it: the crash comes between the call and the next record."""
    text = SCENARIO.format(seen='mark = "before"', work="80ms", group='commit = "async per record"')
    when = 'when = { member = "g-1", step = "commit sent", nth = 9, after = "12s" }'
    text = text.replace(
        'crash = "g-1"\nat = "14.3s"', f'crash = "g-1"\nrestart_after = "1s"\n{when}'
    )
    text = text.replace('rate = "10/s"', 'rate = "10/s"\nbacklog = 200')
    run = emulator.run(emulator.loads(text), 0)

    assert run.ledger.partial == 0
    assert Cause.SKIPPED not in run.ledger.by_cause()
    assert not [e for e in run.events if isinstance(e.what, NotProcessed)]


def test_a_record_of_a_zombie_that_lives_is_left_to_it():
    """g-1 is paused in a record and loses its partition: marked before, the next owner drops the record.

    The zombie ends it when it resumes. Marked after, both process it, and the set recognises the second.
    """
    pause = 'lateness = "0s"\n', '[[fault]]\npause = "g-1"\nfor = "20s"\n'
    runs = {}
    for mark in ("before", "after"):
        text = SCENARIO.format(seen=f'mark = "{mark}"', work="80ms", group=pause[0])
        text = text.replace('[[fault]]\ncrash = "g-1"\n', pause[1])
        runs[mark] = emulator.run(emulator.loads(text), 0, polls=True)
        hold_against_count(runs[mark])
    skipped = [e.what for e in runs["before"].events if isinstance(e.what, NotProcessed)]

    assert len(skipped) == 1
    assert runs["before"].ledger.lost == runs["after"].ledger.lost == 0
    assert runs["after"].ledger.reprocessed == runs["before"].ledger.reprocessed + 1
    assert runs["after"].metrics["not_deduplicated"] == 0


def test_workers_ask_the_set_too():
    pool = 'handler = { workers = 4, order = "none" }\ncommit = "sync"'
    run = run_of("", work="100ms", group=pool)

    assert run.metrics["deduplicated"] == run.ledger.reprocessed
    with pytest.raises(ScenarioError, match="serial handler"):
        run_of('mark = "before"', group=pool)


def with_a_set(document: dict, seen: dict) -> dict:
    """Return a scenario whose group has a seen-set."""
    (group,) = document["group"]
    return {**document, "group": [{**group, "deduplication": seen}]}


@pytest.mark.long
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    document=st.builds(with_a_set, DISTURBED, st.sampled_from([{}, {"window": "3s"}])),
    seed=st.integers(0, 1 << 30),
)
def test_every_duplicate_of_the_ledger_reaches_the_set(document, seed):
    run = play(document, seed)

    assert run.metrics["deduplicated"] + run.metrics["not_deduplicated"] == run.ledger.reprocessed
    hold_against_count(run)
    hold_laws(run)
