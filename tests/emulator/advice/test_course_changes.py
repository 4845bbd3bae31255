"""Changes of the course of events, and that the run confirms them: applied as --set, they help."""

from __future__ import annotations

import pytest

import emulator
from emulator.report.proposal_wording import verdict_of
from emulator.report.proposals import Effect


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "change", "overrides", "said"),
    [
        (
            "l4-assign-listener-throws",
            "catch-in-listener",
            ("run_for=150s",),
            "Removes a problem: onPartitionsAssigned() threw",
        ),
        (
            "topic-recreated",
            "stop-before-recreation",
            (),
            "better: lower lost and refused commits; at the price of higher longest downtime",
        ),
        (
            "a5-two-applications-one-group",
            "separate-groups",
            ("run_for=100s", "act[close-1].at=70s"),
            "Removes a problem: members of billing subscribe to different topics",
        ),
        (
            "a6-new-group-id",
            "keep-group-id",
            ("run_for=150s",),
            "Removes a problem: green replaces blue: 5,400 records were processed by both",
        ),
        ("q4-slow-assignor", "longer-session", (), "Removes a problem: nothing was processed"),
        ("f3-commit-every-n", "commit-more-often", (), "better: lower reprocessed"),
        ("c6-drain-before-revocation", "drain-workers", ("run_for=1min",), "lower reprocessed"),
        ("kip848-poll-without-event", "longer-poll-interval", (), "better: lower reprocessed"),
        (
            "slow-load-after-a-year",
            "compacted-offsets",
            (),
            "better: lower reprocessed",
        ),
        ("migration-refused", "migration-policy", (), "Removes a problem: 1 of 4 members"),
        (
            "client-librdkafka-in-hand",
            "store-after-work",
            (),
            "better: lower lost; at the price of higher reprocessed",
        ),
        ("client-aiokafka-getmany", "commit-sync-per-batch", (), "better: lower lost"),
    ],
)
def test_the_run_confirms_a_change(name, change, overrides, said):
    """With its values for the scenario as it is, under one seed."""
    advice = emulator.advise(name, 1, overrides=overrides)
    trial = next(each for each in advice.trials if each.proposal.id == change)

    assert trial.effect in (Effect.BETTER, Effect.MIXED)
    assert said in verdict_of(trial)
    assert trial.proposal.hint in {hint.id for hint in advice.hints}


@pytest.mark.long
def test_separate_groups_have_all_members_once():
    (change,) = [
        each
        for each in emulator.advise("a5-two-applications-one-group", 1).changes
        if each.id == "separate-groups"
    ]
    changed = emulator.load("a5-two-applications-one-group", change.overrides)

    assert {
        "billing": ["orders-0", "orders-1"],
        "billing-refunds": ["refunds-0", "refunds-1"],
    } == {group.id: [member.name for member in group.members] for group in changed.group}
