"""The migration of offsets from ZooKeeper to Kafka, with dual commit and without it."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import emulator
from emulator.events import CommitAccepted, CommitSent, OffsetsRead, OffsetsStored
from emulator.ledger.entries import Cause
from emulator.report.hints.by_cause import HINTS
from emulator.scenario.problems import ScenarioError

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED
from .store_group import TOPIC_AND_GROUP
from .test_zookeeper import in_zookeeper

SCENARIO = (
    """
title = "offsets in two places"
run_for = "60s"

[zookeeper]
writes = "{writes}"

"""
    + TOPIC_AND_GROUP
    + """\
commit = "{commit}"
offsets = "zookeeper"
settings = {{ "session.timeout.ms" = "6s", "auto.commit.interval.ms" = "5s"{settings} }}

{more}
"""
)
DUAL = ', "offsets.storage" = "kafka"'
KAFKA_ONLY = '{ "offsets.storage" = "kafka", "dual.commit.enabled" = false }'
CRASH = '[[fault]]\ncrash = "g-0"\nat = "{at}"'


NAME = "offsets-from-zookeeper-to-kafka"


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        ["act[dual].settings[dual.commit.enabled]=false"],
        ["act[second].when=dual begins", "act[second].order=reversed"],
    ],
)
def test_advice_restores_the_two_restarts(changes):
    advice = emulator.advise(emulator.load(NAME, changes), seeds=1)
    trial = next(each for each in advice.trials if each.proposal.id == "dual-commit")

    assert trial.before[0]["reprocessed"] > 40
    assert trial.after[0]["reprocessed"] == 0


def run_of(given="", more="", commit="sync", writes="1000/s"):
    text = SCENARIO.format(settings=given, more=more, commit=commit, writes=writes)
    return emulator.run(emulator.loads(text), 0)


def of_kind(run, kind):
    return [event for event in run.events if type(event.what) is kind]


@pytest.mark.long
@pytest.mark.parametrize("commit", ["sync", "auto"])
def test_every_offset_that_kafka_accepts_is_written_to_zookeeper_after_it(commit):
    run = run_of(DUAL, commit=commit)
    accepted = {}
    for event in run.events:
        what = event.what
        if type(what) is CommitAccepted:
            accepted |= dict(what.offsets)
        if type(what) is OffsetsStored:
            assert all(accepted[tp] >= offset for tp, offset in what.offsets)
    stored = dict(pair for event in of_kind(run, OffsetsStored) for pair in event.what.offsets)

    assert {event.what.kind for event in of_kind(run, CommitSent)} >= {"dual"}
    assert stored.keys() == accepted.keys()
    assert run.ledger.by_cause() == {}
    assert run.metrics["rewinds"] == 0


def test_a_member_with_dual_commit_begins_at_the_larger_offset():
    """Here the ensemble is slow: the offset in Kafka is newer when the next owner begins."""
    run = run_of(DUAL, CRASH.format(at="30200ms"), writes="1/s", commit="auto")
    stored, ahead = {}, []
    for event in run.events:
        if type(event.what) is OffsetsStored:
            stored |= dict(event.what.offsets)
        if type(event.what) is OffsetsRead and event.at_us > 31_000_000:
            ahead += [offset - stored.get(tp, 0) for tp, offset in event.what.offsets]

    assert max(ahead) > 50
    assert set(run.ledger.by_cause()) == {Cause.CRASHED}
    assert run.ledger.reprocessed <= 2 * 20 * 6


DEPLOYED = f"""
[[act]]
close = "g-0"
at = "20s"

[[act]]
start = "g-0"
at = "21s"
settings = {KAFKA_ONLY}
"""


@pytest.mark.long
def test_a_member_with_kafka_alone_does_not_see_the_offsets_in_zookeeper():
    run = run_of(', "auto.offset.reset" = "earliest"', DEPLOYED)
    (hint,) = [each.id for each in HINTS[Cause.RESET] if each.when(case(run))]

    assert set(run.ledger.by_cause()) == {Cause.RESET}
    assert run.ledger.reprocessed == pytest.approx(2 * 20 * 21, abs=120)
    assert hint == "dual-commit"


def case(run):
    """Return what the hints on resets depend on."""
    details = [entry.detail for entry in run.ledger.entries]
    return MagicMock(
        mentions=lambda *words: any(word in each for each in details for word in words),
        group=MagicMock(offsets="zookeeper", unfenced=False),
    )


@pytest.mark.long
def test_a_member_with_zookeeper_alone_does_not_see_newer_offsets_in_kafka():
    """The group drops dual commit while this member still needs ZooKeeper."""
    run = run_of("", DEPLOYED + CRASH.format(at="40s"))
    found = {entry.detail for entry in run.ledger.entries if entry.cause is Cause.CRASHED}

    assert found == {"the newest commit is in the other store"}
    assert run.ledger.reprocessed >= 2 * 20 * 15


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('offsets = "zookeeper"', ""), 'set offsets = "zookeeper" of the group'),
        (('"offsets.storage" = "kafka"', '"offsets.storage" = "kafak"'), 'did you mean "kafka"'),
        (('"offsets.storage"', '"offsets.storrage"'), 'did you mean "offsets.storage"'),
    ],
)
def test_settings_of_the_old_consumer_are_refused_elsewhere(change, words):
    text = SCENARIO.format(settings=DUAL, more="", commit="sync", writes="1/s").replace(*change)

    with pytest.raises(ScenarioError, match=words):
        emulator.loads(text)


def test_an_act_may_not_give_them_to_newer_consumers():
    text = SCENARIO.format(settings="", more=DEPLOYED, commit="sync", writes="1/s")
    newer = text.replace('offsets = "zookeeper"\n', "").replace('[zookeeper]\nwrites = "1/s"', "")

    with pytest.raises(ScenarioError, match="only the consumer of Kafka"):
        emulator.loads(newer)


def in_both(document, rate, places):
    """Give members different places for their offsets."""
    document = in_zookeeper(document, rate)
    (group,) = document["group"]
    members = []
    for member, (storage, dual) in zip(group["members"], places, strict=False):
        own = {"offsets.storage": storage, "dual.commit.enabled": dual}
        members.append({**member, "settings": {**member.get("settings", {}), **own}})
    rest = group["members"][len(members) :]
    return document | {"group": [group | {"members": [*members, *rest]}]}


PLACE = st.tuples(st.sampled_from(["zookeeper", "kafka"]), st.booleans())


@pytest.mark.long
@settings(
    deadline=None,
    max_examples=10,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    document=st.builds(
        in_both,
        DISTURBED,
        st.sampled_from(["5/s", "1000/s"]),
        st.lists(PLACE, min_size=4, max_size=4),
    ),
    seed=st.integers(0, 1 << 30),
)
def test_the_ledger_counts_every_message(document, seed):
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
