"""What helps in a scenario of the catalogue, as its variant says: the run confirms it."""

from __future__ import annotations

import pytest

import emulator
from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.proposals import Effect
from emulator.report.screens.trials import NOTHING_HELPS

from .test_catalogue import played
from .test_catalogue_deltas import row

HELPS = [
    ("a2-scale-up-under-load", "in the revocation", "reprocessed", 0),
    ("a8-restart-at-the-peak", "200 records", "drop_outs", 0),
    ("b3-stopped-during-a-rebalance", "30 s", "downtime_max_s", 1),
    ("b5-restarted-before-its-session-ends", "static", "downtime_max_s", 6),
    ("d6-revoke-commits-the-unfinished", "what is finished", "lost", 0),
    ("e2-three-states-at-revocation", "running", "reprocessed", 0),
    ("e3-queue-goes-on-after-the-revocation", "discard", "overlap_records", 0),
    ("e4-burst-of-starts-with-buffers", "20 records", "overlap_records", 300),
    ("e9-commit-before-the-drain", "drain, then commit", "reprocessed", 0),
    ("f4-commit-after-each-record", "each second", "backlog", 30),
    ("g3-shared-database", "4 members", "backlog", 50),
    ("p1-commits-between-two-rounds", "librdkafka", "commits_refused", 0),
    ("r2-two-topics-one-of-them-busy", "range", "backlog", 10),
    ("r4-each-topic-by-itself", "all together", "member_idle_total_s", 1),
    ("s2-workers-or-processes", "8 processes", "downtime_total_s", 15),
    ("s3-pool-slower-than-threads", "six consumers", "backlog", 300),
    ("s5-more-members-than-partitions", "15 partitions", "member_idle_total_s", 1),
    ("u7-lost-or-revoked", "revoked", "reprocessed", 0),
]
"""Name, the variant that helps, the metric of the situation, and the most that the variant leaves."""


@pytest.mark.long
@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "variant", "metric", "most"), HELPS)
def test_a_variant_helps(name, variant, metric, most):
    """The scenario as it is written has more."""
    assert row(name, variant).metrics[metric] <= most < played(name).metrics[metric]


@pytest.mark.long
def test_an_autoscaler_by_lag_takes_throughput_from_members_that_slow_each_other():
    """Four members work a backlog off; twelve, which it starts for it, never do."""
    alone, scaled = (
        row("g3-shared-database", f"4 members, a backlog{more}").metrics
        for more in ("", ", autoscaler")
    )

    assert alone["backlog"] < 50
    assert (12, 0) == (scaled["replicas_max"], scaled["scaling_reversals"])
    assert scaled["processed"] < 0.9 * alone["processed"]
    assert scaled["backlog"] > 500


ADVISED = [
    ("b4-close-beyond-session", "shorter-listener", "downtime_max_s", 18),
    ("c5-hard-messages", "longer-poll-interval", "reprocessed", 0),
    ("n2-lost-sync-kept", "shorter-request-timeout", "downtime_max_s", 31),
    ("d5-revoke-listener-throws", "catch-in-listener", "reprocessed", 0),
    ("e9-commit-before-the-drain", "drain-workers", "reprocessed", 0),
    ("f4-commit-after-each-record", "commit-sync-per-batch", "backlog", 30),
    ("f5-clients-side-by-side", "shorter-session", "downtime_max_s", 15),
    ("g4-replicas-and-partitions", "more-members", "backlog", 10),
    ("i6-new-group-id-at-each-start", "keep-group-id", "processed_by_both", 480),
    ("o2-expansion-with-other-clients", "reset-to-earliest", "lost", 0),
    ("o6-topics-come-and-go", "cooperative", "reprocessed", 0),
    ("p4-old-generation-rejoins", "longer-session", "reprocessed", 0),
    ("p5-sync-answer-lost", "commit-on-revoke", "reprocessed", 0),
    ("p6-listener-of-eager-calls", "as-the-client-does", "downtime_max_s", 4),
    ("p6-one-bounce", "assignor-in-two-steps", "downtime_max_s", 4),
    ("p6-second-bounce-first", "assignor-in-two-steps", "downtime_max_s", 4),
    ("p6-two-bounces", "static-membership", "rebalances", 1),
    pytest.param(
        "published-eager-deploy", "static-membership", "rebalances", 0, marks=pytest.mark.soak
    ),
    ("s2-workers-or-processes", "commit-more-often", "reprocessed", 10),
    ("s3-pool-slower-than-threads", "larger-queue", "backlog", 300),
    ("s5-more-members-than-partitions", "more-partitions", "backlog", 10),
    ("u5-join-before-the-commit", "commit-on-revoke", "reprocessed", 0),
]
"""Name, the change that the hints recommend, the metric of the situation, and what the change leaves."""


@pytest.mark.long
@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "change", "metric", "most"), ADVISED)
def test_advice_helps(name, change, metric, most):
    """A trial confirms the change: the scenario as it is written has more."""
    trials = emulator.advise(name, 1, jobs=1).trials
    trial = next(each for each in trials if each.proposal.id == change)

    before, after = trial.means(metric)
    assert after <= most < before
    assert trial.effect in (Effect.BETTER, Effect.MIXED)


@pytest.mark.long
def test_where_nothing_helps_the_report_says_so():
    """Spare threads take over at once: no setting makes that better."""
    advice = emulator.advise("g5-spare-threads", 1, jobs=1)

    assert {Effect.NONE} == {trial.effect for trial in advice.trials}
    assert NOTHING_HELPS in str(advice)


def test_a_commit_behind_a_flush_that_outlasts_the_session_is_fenced():
    """Its records are done again; before the flush, or within the session, nothing is."""
    fenced = row("b4-close-beyond-session", "flush, then commit").metrics
    within = row("b4-close-beyond-session", "flush, then commit, within the session").metrics

    assert 1 == fenced["commits_refused.by_error[UNKNOWN_MEMBER_ID]"]
    assert fenced["reprocessed.by_cause[commit refused]"] == fenced["reprocessed"] > 200
    assert 0 == within["reprocessed"] == played("b4-close-beyond-session").metrics["reprocessed"]


BATCHES = "group[billing].settings[max.poll.records]=1"

REFUSED = [
    ("c5-hard-messages", "drop_outs", "longer-poll-interval"),
    ("n2-lost-sync-kept", "downtime_max_s", "shorter-request-timeout"),
    ("n2-member-that-never-syncs", "downtime_max_s", "shorter-poll-interval"),
]
"""Name, the metric of the situation, and a change that helps."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "metric", "helps"), REFUSED)
def test_smaller_batches_are_not_proposed_where_they_cannot_help(name, metric, helps):
    """Not where one record takes too long, or a lost SyncGroup is waited for: played by hand they do nothing."""
    _, report = reported(load_named(name, ()), 0)
    proposed = {each.id for each in report.proposals}
    by_hand = emulator.run(emulator.load(name, [BATCHES]), keep_events=False)

    assert "smaller-batches" not in proposed
    assert helps in proposed
    assert by_hand.metrics[metric] >= 0.9 * report.metrics[metric] > 0
