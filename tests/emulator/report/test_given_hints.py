"""The hints of a run: each id once, with all causes for which it is given."""

from __future__ import annotations

from collections import Counter

import pytest

from emulator.advising import reported
from emulator.ledger.entries import Ledger
from emulator.loading import load_named
from emulator.report.hints.given import hint_texts, hints_of
from emulator.report.screens.run import totals_sentence
from emulator.report.subject import in_force
from emulator.scenario.toml import toml_value
from emulator.subjects import subject_of


def test_a_hint_for_two_causes_is_given_once_with_both():
    """The fuller text, with its trade-off, and what it is for."""
    _, report = reported(load_named("rolling-restart-cooperative"), None)
    ids = Counter((hint.id, hint.group) for hint in hints_of(report))
    (text,) = [each for each in hint_texts(report) if each.endswith("[static-membership]")]

    assert {1} == set(ids.values())
    assert "Trade-off: " in text
    assert "(For: revoked while uncommitted; downtime.)" in text


def test_a_group_without_commits_that_skips_is_told_to_commit():
    """Before auto.offset.reset, with which it would reprocess everything instead."""
    scenario = load_named(
        "rolling-restart-eager",
        [
            "group[billing].settings[enable.auto.commit]=false",
            "group[billing].settings[auto.offset.reset]=latest",
        ],
    )
    _, report = reported(scenario, None)

    assert ["commit-at-all", "reset-to-earliest"] == [hint.id for hint in hints_of(report)][:2]


def test_a_setting_that_limits_nothing_is_not_in_the_heading():
    """Librdkafka has no max.poll.records; aiokafka has it, and by default no limit."""
    limit = "group[billing].settings[max.poll.records]=100"
    headings = [
        in_force(subject_of(load_named(name, changes)).groups[0])
        for name, changes in (
            ("client-librdkafka-crash", []),
            ("client-aiokafka-getone", []),
            ("client-aiokafka-getone", [limit]),
        )
    ]

    assert [False, False, True] == ["max.poll.records=100" in each for each in headings]
    assert [False, False, True] == ["max.poll.records" in heading for heading in headings]


def test_records_of_a_close_that_leaves_workers_behind_were_not_killed():
    """They were in flight when the process ended, whatever ended it."""
    ledger = Ledger(
        entries=(),
        processed=9,
        distinct=9,
        reprocessed=0,
        lost=0,
        partial=2,
        duplicates_avoided=0,
        in_hand=0,
        backlog=0,
    )

    metrics = {"processed_by_both": 0, "processed_by_neither": 0}
    assert "2 records were in flight when their process ended" in totals_sentence(ledger, metrics)


@pytest.mark.long
def test_with_two_groups_a_hint_names_those_that_it_is_about():
    """What is said of both is said once, and a setting of brokers is of no group."""
    settings = {"auto.offset.reset": "earliest", "session.timeout.ms": "10s"}
    search = {"id": "search", "topics": ["orders"], "members": 3, "coordinator": 2}
    search |= {"work": "4ms", "settings": settings}
    loaded = load_named(
        "member-crashes",
        [
            f"group+={toml_value(search)}",
            "group[billing].coordinator=1",
            'fault+={ crash = "search-1", at = "80s" }',
            'fault+={ crash_broker = "coordinator of search", at = "79s", restart_after = "20s" }',
        ],
    )
    texts = hint_texts(reported(loaded, 0)[1])
    by_id = Counter(text.rpartition("[")[2] for text in texts)

    assert {1} == set(by_id.values())
    assert any("(Groups search and billing.) [idempotent-processing]" in text for text in texts)
    assert not any("(Group" in text for text in texts if "[fence-sooner]" in text)
    assert not any(
        "(Group" in text for text in hint_texts(reported(load_named("member-crashes"), 0)[1])
    )
