"""The search finds the cause of incidents whose cause is known."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import emulator
from emulator.blaming import trials
from emulator.blaming.evidence import Evidence, Joined, Work, evidence_of, recorded
from emulator.blaming.explanations import Explanation
from emulator.blaming.happening import BUT_REFUSED, MID_BATCH, NOTHING, Happening
from emulator.blaming.hypotheses import MIGRATION, SOME_KILLS
from emulator.blaming.policies import ON_REVOKE, Policy
from emulator.blaming.setup import Setup
from emulator.blaming.topic_causes import OVERTAKEN
from emulator.blaming.trials import blame_for
from emulator.conformance.captured.capture import Capture, read_capture
from emulator.conformance.captured.traces import Raised, Worked, member_settings
from emulator.conformance.history.run import history

from .incidents import SETUP


def played(commit: str, happening: str, seed: int = 3) -> Evidence:
    """Return what the logs of a small incident show."""
    scenario = emulator.loads(f"""
        title = "an incident"
        run_for = "50s"
        [[topic]]
        name = "orders"
        partitions = 4
        rate = "5/s"
        [[group]]
        id = "billing"
        topics = ["orders"]
        members = 2
        work = "10ms"
        commit = "{commit}"
        [group.settings]
        "partition.assignment.strategy" = "range"
        "session.timeout.ms" = 6000
        "heartbeat.interval.ms" = 1000
        "max.poll.interval.ms" = 8000
        {happening}
    """)
    return evidence_of(emulator.run(scenario, seed=seed, polls=True).events, "billing", 10_000)


INCIDENTS = {
    "crash": ("auto", '[[fault]]\ncrash = "billing-1"\nat = "23.4s"', "automatic commits"),
    "hang": (
        "sync",
        '[[fault]]\nhang = "billing-1"\nat = "23.4s"\nfor = "14s"',
        "commitSync after each batch",
    ),
    "close": (
        "sync before",
        '[[act]]\nclose = "billing-0"\nat = "23.4s"',
        "commitSync before the work",
    ),
    "coordinator crash": (
        "auto",
        '[[fault]]\ncrash_broker = "coordinator of billing"\nat = "23.4s"',
        "automatic commits",
    ),
}


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("name", INCIDENTS)
def test_the_cause_of_an_emulated_incident_is_among_the_first_three(name):
    commit, happening, policy = INCIDENTS[name]
    found = blame_for(played(commit, happening), SETUP, seeds=1)
    first = [(each.policy.name, each.happening.name) for each in found.explanations[:3]]

    assert (policy, name) in first


@pytest.mark.long
@pytest.mark.soak
def test_what_is_not_played_could_not_be_among_the_first(monkeypatch):
    """The commits before the incident are a bound of what an explanation can fit."""
    seen, total, done = played("sync", INCIDENTS["crash"][1]), [], []
    bounded = blame_for(seen, SETUP, seeds=1, progress=lambda *each: total.append(each))
    monkeypatch.setattr(trials, "REPEATED", 1_000)
    whole = blame_for(seen, SETUP, seeds=1, progress=lambda *each: done.append(each))

    assert bounded.explanations[:5] == whole.explanations[:5]
    assert len(bounded.explanations) < len(whole.explanations)
    assert total == done


# -- captured runs, their cause hidden -------------------------------------------------------------

FOLDERS = ("REBALANCE_CAPTURES", "REBALANCE_CAPTURES_OPEN")
"""The variables that name folders of captured runs."""

KEPT = Path(__file__).parents[2] / "captures"

ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def evidence_in(capture: Capture) -> Evidence:
    """Return what a processing log and the offsets log of a captured run would show."""
    seen = evidence_of(history(capture), capture.group, 10_000)
    work = [
        Work(trace.member, each.partition, each.offset, each.offset + 1, each.began_us, each.at_us)
        for trace in capture.traces
        for each in trace.entries
        if isinstance(each, Worked) and each.at_us <= capture.end_us
    ]
    work.sort(key=lambda done: (done.ended_us, done.partition, done.first))
    generations = seen.generations_us or tuple(_synced_us(capture))
    known = sorted((*seen.joins, *_classic_joins(capture)), key=attrgetter("at_us"))
    joins = recorded(known, generations)
    return Evidence(tuple(work), seen.commits, generations, joins)


def _synced_us(capture: Capture) -> Iterator[int]:
    """Yield when the records of generations were written: only Java's own log has their contents."""
    for line in capture.coordinator_log:
        if line.text.startswith("Assignment received from leader"):
            yield line.at_us


_JOINED = re.compile(r"joins the consumer group\. Created a new member id (\S+)")


def _classic_joins(capture: Capture) -> Iterator[Joined]:
    """Yield the member ids of processes that join a consumer group by the classic protocol."""
    consumers = {each: trace.member for trace in capture.traces for each in trace.member_ids}
    for line in capture.coordinator_log:
        if (found := _JOINED.search(line.text)) and found[1] in consumers:
            yield Joined(line.at_us, consumers[found[1]])


def setup_of(capture: Capture) -> Setup:
    """Return what the offsets log of a captured run would say; its client ids are not the defaults."""
    trace = capture.traces[0]
    member, is_classic = member_settings(trace), trace.protocol == "classic"
    named = member.kafka.get("partition.assignment.strategy", "").rpartition(".")[2]
    usual = "roundrobin" if member.client == "aiokafka" else "range"
    session_ms = int(member.kafka.get("session.timeout.ms", 45_000))
    longest_ms = int(member.kafka.get("max.poll.interval.ms", 300_000))
    last = capture.traces[-1].protocol
    return Setup(
        group=capture.group,
        protocol=trace.protocol,
        migrated_to=last if last != trace.protocol else None,
        assignor=ASSIGNORS.get(named, named or usual) if is_classic else None,
        session_timeout_ms=session_ms if is_classic else None,
        rebalance_timeout_ms=session_ms if member.client == "aiokafka" else longest_ms,
        is_static=any("c.group.instance.id" in trace.conf for trace in capture.traces),
    )


POLICIES = {
    "auto": "automatic commits",
    "store": "stored offsets",
    "sync-per-poll": "commitSync after each batch",
    "sync-before": "commitSync before the work",
    "timer": "commitSync at an interval",
    "timer-sync-on-revoke": f"commitSync at an interval{ON_REVOKE}",
}
"""The modes of the captured runs."""


def fault_in(capture: Capture) -> str:
    """Return what was done to a captured run, as an explanation names it."""
    done = [(action.do, action.member) for action in capture.actions]
    verbs = {verb for verb, _ in done}
    if "maketopic" in verbs:
        return "topic recreated" if "deltopic" in verbs else "topic created"
    if _of_one_instance(capture):
        is_classic = capture.traces[0].protocol == "classic"
        return "static member replaced" if is_classic else NOTHING.name + BUT_REFUSED
    if "retention" in capture.scenario:
        return "pause" + OVERTAKEN
    for verb, name in {
        "killcoord": "coordinator crash",
        "stopcoord": "coordinator pause",
        "sigstop": "pause",
        "hang": "hang",
        "addparts": "partitions added",
    }.items():
        if verb in verbs:
            return name
    if len({trace.protocol for trace in capture.traces}) > 1:
        return MIGRATION + (SOME_KILLS if "sigkill" in verbs else "")
    if "sigkill" in verbs:
        if _of_refused(capture):
            return "crash" + BUT_REFUSED
        return "crash and return" if "start" in verbs else "crash"
    if "sigterm" in verbs:
        several = len({member for verb, member in done if verb == "sigterm"}) > 1
        returned = "deploy" if several else "restart"
        ending = MID_BATCH if _stops_in_batch(capture) else ""
        return (returned if "start" in verbs else "close") + ending
    return "join" if "start" in verbs else "nothing"


def _stops_in_batch(capture: Capture) -> bool:
    """Return whether a process that got a SIGTERM ended its batch early."""
    ended = {action.member for action in capture.actions if action.do == "sigterm"}
    return any(
        trace.member in ended and member_settings(trace).stops_in_batch for trace in capture.traces
    )


def _of_refused(capture: Capture) -> bool:
    """Return whether a process was refused as the session of the one before had not expired."""
    return any(
        isinstance(each, Raised) and "UnreleasedInstanceIdException" in each.text
        for trace in capture.traces
        for each in trace.entries
    )


def _of_one_instance(capture: Capture) -> bool:
    """Return whether two members have the same instance id."""
    owners = {
        (trace.conf["c.group.instance.id"], trace.member)
        for trace in capture.traces
        if "c.group.instance.id" in trace.conf
    }
    return len({instance for instance, _ in owners}) < len(owners)


def _all_of(one: Explanation) -> list[tuple[Policy, Happening]]:
    """Return the policy and the happening of an explanation and of its alternatives."""
    return [(each.policy, each.happening) for each in (one, *one.alike)]


def place_of(path: Path) -> int:
    """Return the place of the true client, policy and fault among the explanations."""
    capture = read_capture(path)
    found = blame_for(evidence_in(capture), setup_of(capture), seeds=1).explanations
    member = member_settings(capture.traces[0])
    true = (member.client, POLICIES[member.mode], fault_in(capture))
    places = (
        place
        for place, each in enumerate(found, 1)
        for policy, happening in _all_of(each)
        if (policy.client, policy.name, happening.name) == true
        and (member.client != "aiokafka" or policy.read_with == member.read_with)
    )
    return next(places, len(found) + 1)


@pytest.mark.long
@pytest.mark.parametrize(
    "run",
    [
        pytest.param("crash-range-auto/run-1", marks=pytest.mark.soak),
        "inhand-aiokafka-getone/run-1",
    ],
)
def test_the_cause_of_a_captured_crash_is_among_the_first_three(run):
    """Its client, its commit policy and the crash."""
    assert place_of(KEPT / run) <= 3


@pytest.mark.long
def test_a_close_in_mid_batch_that_lost_records_is_tried_with_every_policy():
    """The first policy, commitSync at an interval, loses none, and fits a close in mid-batch badly."""
    assert place_of(KEPT.parent / "captures-more/close-midbatch-classic/run-2") <= 3


LEFT_OUT = ("control-",)
"""Runs without a fault."""


def captured() -> list[Path]:
    """Return all captured runs with a fault."""
    folders = [Path(os.environ[name]) for name in FOLDERS if name in os.environ]
    runs = (run for folder in folders for run in sorted(folder.glob("*/run-*")))
    return [run for run in runs if not run.parent.name.startswith(LEFT_OUT)]


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.skipif(not captured(), reason=f"{FOLDERS[0]} does not name the captured runs")
def test_nine_of_ten_captured_causes_are_among_the_first_three():
    """The true client, commit policy and fault or deploy of every captured run with one."""
    places = {f"{run.parent.name}/{run.name}": place_of(run) for run in captured()}

    assert 0.9 * len(places) <= sum(place <= 3 for place in places.values()), places
