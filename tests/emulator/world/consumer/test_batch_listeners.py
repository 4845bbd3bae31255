"""Batch listeners: what a failing record in the middle of a batch repeats, skips and forwards."""

from __future__ import annotations

import pytest

import emulator
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError

from ...brute_force.test_brute_force import hold_against_count, hold_laws

SCENARIO = """
title = "a record fails in the middle of a batch"
run_for = "{run_for}"
[[topic]]
name = "t"
rate = "0/s"
backlog = 10
partitions = {partitions}
[[group]]
id = "g"
topics = ["t"]
members = {members}
work = "20ms"
handler = {handler}
commit = "{commit}"
settings = {{ "enable.auto.commit" = false, "auto.offset.reset" = "earliest", "max.poll.records" = {records} }}
poison = [{{ topic = "t", partition = 0, offset = 4, backoff = "100ms", {rule} }}]
{more}
"""
WHOLE, NAMED = '"batch"', "{ names_failed = true }"
SKIP = 'error = "seek", attempts = 3, then = "skip"'
SUCCEED = 'error = "seek", attempts = 3'
FORWARD = 'error = "pause", attempts = 2, then = "forward"'


def run_of(handler: str, rule: str, **changes: object) -> emulator.Run:
    """Play a batch of 10 records of which the fifth fails."""
    values = {
        "run_for": "15s",
        "partitions": 1,
        "members": 1,
        "commit": "sync",
        "records": 500,
        "more": "",
    } | changes
    text = SCENARIO.format(handler=handler, rule=rule, **values)
    return emulator.run(emulator.loads(text), 0, polls=True)


@pytest.mark.parametrize(
    ("handler", "rule", "reprocessed", "lost"),
    [
        ('"serial"', SKIP, 0, 1),
        (NAMED, SKIP, 0, 1),
        (WHOLE, SKIP, 4 * 2, 6),
        (NAMED, SUCCEED, 0, 0),
        (WHOLE, SUCCEED, 4 * 3, 0),
        (WHOLE, SUCCEED.replace("seek", "pause"), 4 * 3, 0),
        (WHOLE, FORWARD, 4, 0),
    ],
)
def test_the_whole_batch_is_repeated_unless_the_exception_names_the_record(
    handler, rule, reprocessed, lost
):
    """Four records are in front of the one that fails, and five behind it."""
    run = run_of(handler, rule)

    assert (run.ledger.reprocessed, run.ledger.lost) == (reprocessed, lost)
    assert run.ledger.processed == 10 - lost + reprocessed
    hold_laws(run)
    hold_against_count(run)


def test_what_is_repeated_has_its_cause():
    """The position was sought, since the record failed."""
    causes = run_of(WHOLE, SKIP).ledger.by_cause()

    assert causes == {Cause.SOUGHT: 8, Cause.SKIPPED: 6}


def test_the_recoverer_gets_the_whole_batch():
    """Ten records are forwarded, four of which were processed; with the name of the record, one."""
    assert run_of(WHOLE, FORWARD).metrics.values["forwarded"] == 10
    assert run_of(NAMED, FORWARD).metrics.values["forwarded"] == 1


def test_smaller_batches_repeat_less():
    """Batches of three: records 3 to 5, of which one is in front of the failing one."""
    run = run_of(WHOLE, SKIP, records=3)

    assert (run.ledger.reprocessed, run.ledger.lost) == (2, 2)


def test_partitions_beside_it_are_repeated_too():
    """Whichever partition comes first in the batch: nothing is counted twice or left out."""
    run = run_of(WHOLE, SUCCEED, partitions=3)

    assert run.ledger.reprocessed >= 12
    assert run.ledger.lost == 0
    hold_laws(run)
    hold_against_count(run)


def test_the_next_owner_of_a_batch_that_fails_begins_with_it():
    """Nothing of the batch is committed, so a crash during the back-off repeats its front."""
    crash = '[[fault]]\ncrash = "g-0"\nat = "6.9s"\n[[act]]\nstart = "g-0"\nat = "8s"\n'
    slow = SUCCEED.replace("3", "2") + ', max_backoff = "100ms"'
    run = run_of(WHOLE, slow, more=crash, run_for="70s")

    assert run.ledger.lost == 0
    assert run.ledger.processed >= 10
    hold_laws(run)
    hold_against_count(run)


def test_without_a_failure_it_is_the_serial_handler():
    """The same events; the head of the report names it."""
    rule = 'work = "20ms"'
    assert run_of(WHOLE, rule).digest == run_of('"serial"', rule).digest


@pytest.mark.parametrize(
    ("handler", "rule", "commit", "text"),
    [
        (WHOLE, 'error = "retry", attempts = 2', "sync", 'write "seek", or "pause"'),
        (WHOLE, SKIP, "sync per record", "returns once for all records of a poll"),
        ('{ listener = "batch", name_failed = true }', SKIP, "sync", "names_failed"),
        ('"bach"', SKIP, "sync", 'did you mean "batch"'),
    ],
)
def test_what_a_batch_listener_does_not_do_is_refused(handler, rule, commit, text):
    """A retry in the handler, a commit after each record, keys it does not have."""
    with pytest.raises(ScenarioError) as caught:
        run_of(handler, rule, commit=commit)
    assert text in str(caught.value)
