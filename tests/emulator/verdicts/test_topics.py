"""Topics that change under a group: rebalances that stop partitions for nothing, and offsets of an old topic."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import ScenarioText, load_named, load_text
from emulator.report.hints.given import hints_of
from emulator.verdicts.interruptions import Interrupted, Interruptions
from emulator.verdicts.verdict import VerdictId

from ..ledger.history import P0, P1

STRATEGY = "group[billing].settings[partition.assignment.strategy]"
COMES_AND_GOES = """
title = "a topic comes and goes"
run_for = "60s"
topic = [
  { name = "orders-eu", partitions = 4, rate = "1/s" }, { name = "orders-1", created = "by act" },
]
act = [
  { create_topic = "orders-1", at = "12s" }, { delete_topic = "orders-1", at = "24s" },
  { create_topic = "orders-1", at = "36s" },
]
[[group]]
id = "billing"
pattern = "orders-.*"
members = 2
settings = { "auto.offset.reset" = "earliest", "metadata.max.age.ms" = "4s" }
"""


def played(*changes: str):
    text = ScenarioText("topics", "topics", COMES_AND_GOES, Path())
    return reported(load_text(text, changes), 0)[1]


def problem(report, which: VerdictId):
    return {each.id: each for each in report.verdicts if each.problem}.get(which)


@pytest.mark.long
def test_rebalances_of_topics_that_come_and_go_are_named_with_what_they_stop():
    """Each change of a topic that the pattern matches; the advice is to match fewer, or not to stop."""
    report = played()
    said = problem(report, VerdictId.TOPIC_REBALANCES)
    hints = {hint.id: hint.text for hint in hints_of(report)}

    assert said.sentence == (
        "changes of topics (orders-1) rebalanced billing 3 times; each time up to 4 partitions stopped, "
        "although they kept their owner"
    )
    assert {"stable-topics", "cooperative"} <= hints.keys()
    assert "one rolling restart that removes range" in hints["cooperative"]
    assert {each.id: each.overrides for each in report.proposals}["stable-topics"] == (
        'group[billing].pattern="orders\\\\-eu"',
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "change", ['group[billing].pattern="orders-eu"', f"{STRATEGY}=cooperative-sticky"]
)
def test_the_advice_for_topics_that_come_and_go_is_confirmed(change):
    """Without the rebalances, or without the stops, there is no problem."""
    assert problem(played(change), VerdictId.TOPIC_REBALANCES) is None


def test_only_partitions_that_return_to_their_owner_stop_for_nothing():
    """Of rebalances for topics; one that moves to another owner, or for another reason, does not count."""
    found = Interruptions()
    for reason in ("cached metadata has changed", "member joined"):
        found.revoke(P0, "a")
        found.revoke(P1, "a")
        found.begin(f"Leader a re-joining group; client reason: {reason}")
        found.join()
        found.open(P0, "a")
        found.open(P1, "b")

    assert found.interrupted({"t"}) == Interrupted(times=1, partitions=1, topics=("t",))
    assert Interruptions().interrupted(()) is None


@pytest.mark.long
def test_offsets_of_an_old_topic_come_first_and_the_advice_ends_the_loss():
    """O6: the members that committed them, and what that lost."""
    loaded = load_named("topic-recreated")
    _, report = reported(loaded, 0)
    said = problem(report, VerdictId.OLD_TOPIC_OFFSETS)
    (change,) = report.proposals
    changed = emulator.run(load_named(loaded.name, change.overrides).scenario, keep_events=False)

    assert "billing-0 committed offsets of the old orders" in said.sentence
    assert said.numbers["lost"] == report.ledger.lost > 0
    assert change.id == "stop-before-recreation"
    assert changed.ledger.lost == 0
    assert VerdictId.OLD_TOPIC_OFFSETS not in {each.id for each in changed.verdicts}


FOUND_LATE = """
title = "a topic is found late"
run_for = "3min"
topic = [
  { name = "orders-eu", rate = "1/s" }, { name = "orders-us", rate = "1/s", created = "by act" },
]
act = [{ create_topic = "orders-us", at = "20s" }]
[[group]]
id = "billing"
pattern = "orders-.*"
members = 1
settings = { "auto.offset.reset" = "earliest", "metadata.max.age.ms" = "100s" }
"""


def test_the_time_until_partitions_are_found_is_no_other_downtime():
    """One problem, with its reason, not two; a coordinator that matches the pattern finds it at once."""
    late = emulator.run(emulator.loads(FOUND_LATE), keep_events=False)
    by_broker = [
        "group[billing].settings[group.protocol]=consumer",
        "group[billing].pattern_by=broker",
    ]
    soon = emulator.run(emulator.loads(FOUND_LATE, overrides=by_broker), keep_events=False)

    assert late.metrics["downtime_max_s"] > 60
    assert {each.id for each in late.verdicts} == {VerdictId.FOUND_LATE}
    assert soon.verdicts == ()


def test_a_smaller_metadata_age_is_no_advice_where_the_coordinator_matches_the_pattern():
    """Its members are told of new topics."""
    hints = {
        change: {
            hint.id
            for hint in hints_of(reported(load_named("kip848-pattern-by-broker", change), 0)[1])
        }
        for change in ((), ("group[billing].pattern_by=client",))
    }

    assert "smaller-metadata-age" not in hints[()]
    assert "smaller-metadata-age" in hints[("group[billing].pattern_by=client",)]
