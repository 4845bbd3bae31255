"""Whether a run lasted until the consequences of its faults had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator import events as ev
from emulator.metrics.metrics import measure
from emulator.report.screens.verdict import first_lines
from emulator.verdicts.facts_meter import FactsMeter
from emulator.verdicts.findings import cut_short, verdicts_of
from emulator.verdicts.verdict import VerdictId, named

from ..cli.commands import CRASH
from ..ledger.history import GROUP, P0, P1, History


def running():
    """Consumers a and b in a stable group; a owns orders-0, b owns orders-1."""
    history = History()
    history.topic()
    history.start("a", "b")
    for name in ("a", "b"):
        history.say(ev.MemberAdded(group=GROUP, consumer=name, member_id=f"{name}-1"))
    history.stable(1, (("a", (P0,)), ("b", (P1,))))
    history.open("a")
    history.open("b", partition=P1)
    history.work("a", 0, 10)
    return history


def ids(history):
    return {verdict.id: verdict for verdict in verdicts(history)}


def verdicts(history):
    measured = measure(history.events)
    return verdicts_of(measured.ledger, measured.metrics, facts_of(history))


def facts_of(history):
    meter = FactsMeter()
    for event in history.events:
        meter.feed(event)
    return meter.close()


def test_an_undisturbed_run_is_conclusive():
    """Every partition has an owner, and nothing is under way."""
    assert {} == ids(running())


def test_a_fault_that_did_not_fire_leaves_every_metric_without_evidence():
    """Also those of the traffic."""
    history = running()
    history.say(ev.FaultMissed(fault="crash-1", verb="crash", target="a", why="too late"))
    found = ids(history)[VerdictId.FAULT_MISSED]

    assert "crash-1 did not fire" == found.sentence
    assert {"lost", "requests"} <= found.cut_short


def test_a_refused_act_leaves_every_metric_without_evidence():
    """Its reason is said once, also if several partitions were refused; the error serves without words."""
    history = running()
    act = {"fault": "reset-1", "verb": "reset_offsets", "target": GROUP, "group": GROUP}
    history.say(ev.ActRefused(**act, error="UNKNOWN_MEMBER_ID", why="the group has members"))
    history.say(ev.ActRefused(**act, error="NOT_COORDINATOR", why=""))
    found = ids(history)[VerdictId.ACT_REFUSED]

    assert "reset-1 was refused: the group has members" == found.sentence
    assert {"lost", "requests"} <= found.cut_short
    assert not any("Increase run_for" in line for line in first_lines([found]))


def test_a_fault_that_has_not_ended_is_named():
    """A pause, for example; with its end the run is conclusive."""
    history = running()
    history.cause = None
    history.fault("pause-1", "pause", "a")

    assert "pause-1 (a) had not ended" == ids(history)[VerdictId.FAULT_LASTING].sentence

    history.say(ev.FaultEnded(fault="pause-1", verb="pause", target="a"))

    assert {} == ids(history)


def test_partitions_without_an_owner_are_counted():
    """With the longest wait."""
    history = running()
    history.close("a", 10, "revoked")
    history.wait(5)
    history.start("c")
    found = ids(history)[VerdictId.WITHOUT_OWNER]

    assert 1 == found.numbers["partitions"]
    assert pytest.approx(5.001) == found.numbers["longest_s"]
    assert found.sentence.startswith(f"1 partition of {GROUP} had no owner, for up to 5")


def test_a_dead_member_is_expected_to_be_removed():
    """Until then its session runs; a removed member is forgotten."""
    history = running()
    history.stop("a")

    assert VerdictId.SESSION_RUNNING in ids(history)

    history.say(ev.MemberRemoved(group=GROUP, consumer="a", member_id="a-1", why="session expired"))

    assert VerdictId.SESSION_RUNNING not in ids(history)


def test_a_member_of_an_earlier_process_is_absent_too():
    """The consumer runs again, and its old member still has partitions."""
    history = running()
    history.stop("a")
    history.start("a", incarnation=2)

    assert ("a",) == facts_of(history).groups[0].absent


def test_a_rebalance_has_to_end():
    """From its start to the next stable generation."""
    history = running()
    history.say(ev.RebalanceStarted(group=GROUP, generation=1, reason="test"))

    assert VerdictId.REBALANCING in ids(history)

    history.stable(2, (("a", (P0,)), ("b", (P1,))))

    assert VerdictId.REBALANCING not in ids(history)


@pytest.mark.parametrize(
    ("run_for", "expected", "decided"),
    [
        ("18.5s", {"without-owner", "session-running"}, False),
        ("24.3s", {"reprocessing"}, True),
        ("40s", set(), True),
    ],
)
def test_a_run_proves_nothing_before_its_consequences(run_for, expected, decided):
    """A crash, at three ends of the run: no record is lost in any, but not all of them show it."""
    run = emulator.run(emulator.loads(CRASH, overrides=[f"run_for={run_for}"]))
    (lost,) = run.expectations()

    assert expected <= {verdict.id.value for verdict in run.verdicts}
    assert run.conclusive == (not expected)
    assert (decided, decided, not decided) == (run.ok, lost.ok, lost.inconclusive)
    assert lost.message.startswith("lost is 0, expected == 0")


def test_metrics_keep_the_first_reason():
    """Expectations name one reason."""
    history = running()
    history.stop("a")
    reasons = cut_short(verdicts(history))

    assert reasons["lost"] == verdicts(history)[0].sentence
    assert "requests" not in reasons


def test_many_names_are_counted():
    """So that a sentence fits a line."""
    assert "a, b, c and 1 other" == named(["a", "b", "c", "d"])


def test_every_verdict_is_documented():
    """By its id, in docs/reference/verdicts.md."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "verdicts.md").read_text()

    assert [] == [each for each in VerdictId if f"| `{each.value}` |" not in page]
