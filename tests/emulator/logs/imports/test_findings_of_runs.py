"""Findings from the log of a run equal the run itself, which the emulator knows."""

from __future__ import annotations

from itertools import dropwhile

import pytest

import emulator
from emulator.logs.imports.reasons import Reason
from emulator.scenario import catalogue

from .found import found, played, played_and_measured

FORMING = (Reason.CREATED, Reason.FORMED, Reason.JOINED)


def catalogue_run(name, folder):
    """Play a scenario that comes along; return what is found about its group."""
    return found(played(emulator.load(catalogue.path_of(name)), folder / "log"), "billing")


def test_rewinds_are_those_that_the_run_counted(tmp_path):
    """Each older commit that won, and how many records it asked for again."""
    scenario = emulator.load(catalogue.path_of("d3-older-commit-wins"))
    tables, metrics = played_and_measured(scenario, tmp_path / "log")
    findings = found(tables, "billing")

    assert metrics["rewinds"] == findings.rewound == len(findings.rewinds) > 0
    assert metrics["rewind_records"] == sum(each.records for each in findings.rewinds)
    assert all("a delayed older commit" in each.words for each in findings.rewinds)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("member-crashes", [Reason.EXPIRED]),
        ("kip848-member-crashes", [Reason.EXPIRED]),
        ("member-closes", [Reason.LEFT]),
        ("heartbeats-stop", [Reason.EXPIRED, Reason.JOINED]),
        ("l1-zombie-after-pause", [Reason.EXPIRED, Reason.JOINED]),
        ("partitions-added", [Reason.TOPICS]),
        ("o4-new-topic-many-rebalances", [Reason.SUBSCRIPTION]),
        ("offsets-reset", [Reason.EMPTIED, Reason.FORMED]),
        ("k1-instance-id-reused", [Reason.STATIC_REJOIN, Reason.STATIC_REJOIN]),
    ],
)
def test_reasons_are_those_of_the_scenario(tmp_path, name, expected):
    """After the group has formed; from commits and generations alone."""
    findings = [each.reason for each in catalogue_run(name, tmp_path).changes]
    since = dropwhile(lambda reason: reason in FORMING, findings)

    assert expected == list(since)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "renewed", "rebalances"),
    [
        ("rolling-restart-eager", 3, 6),
        ("rolling-restart-static", 3, 0),
    ],
)
def test_a_rolling_restart_is_a_deploy(tmp_path, name, renewed, rebalances):
    """Its members and its rebalances, without those by which the group formed."""
    (deploy,) = catalogue_run(name, tmp_path).deploys

    assert (renewed, rebalances) == (deploy.renewed, deploy.rebalances)


@pytest.mark.long
def test_two_members_in_a_loop_of_late_polls_flap(tmp_path):
    """They are not being deployed."""
    findings = catalogue_run("c1-slow-record-loop", tmp_path)

    assert 2 == sum(each.flapping for each in findings.member_findings)
    assert () == findings.deploys
