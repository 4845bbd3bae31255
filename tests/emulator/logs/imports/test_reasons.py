"""Why a group rebalanced: what the log shows, and what silence makes probable."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.logs.imports.exploring import explore
from emulator.logs.imports.reasons import Reason

from .found import CAPTURES, Log, found, kept, member, read

MINUTE = 60_000


def reasons(log: Log) -> list[Reason]:
    return [each.reason for each in log.found().changes]


def words(log: Log) -> str:
    """Return what is said of the last change."""
    return log.found().changes[-1].words


def two_members(until_ms: int, *, silent_from_ms: int | None = None) -> Log:
    """Let a and b work, b until an instant at which it falls silent."""
    log = Log()
    log.generation(0, 1, member("a", 0), member("b", 1))
    for at_ms in range(5_000, until_ms, 5_000):
        log.commit(at_ms, at_ms, 0)
        if silent_from_ms is None or at_ms < silent_from_ms:
            log.commit(at_ms, at_ms, 1)
    return log


def test_a_member_that_was_silent_for_its_session_has_probably_expired():
    """Others went on, and it had committed often before."""
    log = two_members(3 * MINUTE, silent_from_ms=2 * MINUTE)
    log.generation(3 * MINUTE - 1, 2, member("a", 0, 1))

    assert [Reason.FORMED, Reason.EXPIRED] == reasons(log)
    assert "session probably expired: b (10.0.0.7), silent for 1 min 5 s" in words(log)


def test_a_member_that_was_silent_for_its_poll_interval_has_probably_polled_too_late():
    """Its heartbeats went on, so the session did not end it."""
    log = two_members(8 * MINUTE, silent_from_ms=2 * MINUTE)
    log.generation(8 * MINUTE - 1, 2, member("a", 0, 1))

    assert [Reason.FORMED, Reason.LATE_POLL] == reasons(log)


def test_a_member_that_committed_last_of_all_has_probably_closed():
    """A close commits."""
    log = two_members(3 * MINUTE)
    log.commit(3 * MINUTE, 999_999, 1)
    log.generation(3 * MINUTE + 10, 2, member("a", 0, 1))

    assert [Reason.FORMED, Reason.LEFT] == reasons(log)
    assert "probably closed: b (10.0.0.7)" == words(log)


def test_silence_means_nothing_without_commits():
    """There may have been nothing to read."""
    log = two_members(2 * MINUTE)
    log.generation(4 * MINUTE, 2, member("a", 0, 1))

    assert [Reason.FORMED, Reason.GONE] == reasons(log)
    assert words(log).startswith("closed, or session expired: b (10.0.0.7), silent for 2 min 5 s")


def test_a_member_that_never_committed_leaves_no_trace():
    """Both stays possible."""
    log = Log()
    log.generation(0, 1, member("a", 0), member("b"))
    log.steadily(5_000, MINUTE, 0)
    log.generation(MINUTE, 2, member("a", 0))

    assert Reason.GONE is reasons(log)[-1]
    assert "never committed" in words(log)


def test_a_member_that_returns_at_once_was_probably_restarted():
    """Another id, the same name and host."""
    log = two_members(MINUTE)
    log.generation(MINUTE, 2, member("a", 0), member("b", 1, member_id="b-again"))

    assert Reason.RESTARTED is reasons(log)[-1]


def test_a_join_is_a_join():
    """It is written in the log."""
    log = two_members(MINUTE)
    log.generation(MINUTE, 2, member("a", 0), member("b", 1), member("c"))

    assert Reason.JOINED is reasons(log)[-1]
    assert "joined: c (10.0.0.7)" == words(log)


def test_more_partitions_for_the_same_members_were_added():
    """No member joined or left."""
    log = two_members(MINUTE)
    log.generation(MINUTE, 2, member("a", 0, 2), member("b", 1, 3))

    assert Reason.TOPICS is reasons(log)[-1]


def test_other_topics_are_another_subscription():
    """The same members ask for something else."""
    log = two_members(MINUTE)
    log.generation(MINUTE, 2, member("a", 0, topics=["orders", "refunds"]), member("b", 1))

    assert Reason.SUBSCRIPTION is reasons(log)[-1]


def test_revoked_partitions_are_assigned_in_the_second_cooperative_round():
    """It belongs to the rebalance before."""
    log = Log()
    log.generation(0, 1, member("a", 0, 1), protocol="cooperative-sticky")
    joined = (member("a", 0), member("b"))
    log.generation(10_000, 2, *joined, protocol="cooperative-sticky")
    log.generation(10_500, 3, member("a", 0), member("b", 1), protocol="cooperative-sticky")

    assert [Reason.FORMED, Reason.JOINED, Reason.SECOND_ROUND] == reasons(log)


def test_a_generation_without_a_difference_has_no_reason_in_the_log():
    """Nothing is made up."""
    log = two_members(MINUTE)
    log.generation(MINUTE, 2, member("a", 0), member("b", 1))

    assert Reason.UNKNOWN is reasons(log)[-1]


def test_where_the_log_begins_late_nothing_is_known_to_have_changed():
    """Compaction took what was before."""
    log = Log()
    log.generation(0, 41, member("a", 0))

    assert [Reason.SEEN_FIRST] == reasons(log)
    assert 0 == log.found().pace.rebalances


def test_a_returning_static_member_makes_no_member_rejoin():
    """The group is written again in its generation."""
    log = Log()
    log.generation(0, 1, member("a", 0, instance_id="i"), member("b", 1))
    back = member("a", 0, instance_id="i", member_id="a-again")
    log.generation(10_000, 1, back, member("b", 1))

    assert [Reason.FORMED, Reason.STATIC_REJOIN] == reasons(log)
    assert 1 == log.found().pace.rebalances


def test_a_group_that_changes_its_protocol_goes_on():
    """Its record of the old type is deleted in the same batch: no deletion is reported."""
    log = Log()
    log.generation(0, 4, member("a", 0, member_id="A"))
    log.record(10, 2)
    log.record(10, 5, member_id="A", members=[member("a", member_id="A")])
    log.record(10, 3, epoch=5)

    assert [Reason.SEEN_FIRST, Reason.CONVERTED] == reasons(log)


def test_a_group_comes_and_goes():
    """Created, formed, left by all members, deleted."""
    log = Log()
    log.generation(0, 0)
    log.generation(3_000, 1, member("a", 0))
    log.generation(9_000, 2)
    log.record(99_000, 2)

    assert [Reason.CREATED, Reason.FORMED, Reason.EMPTIED, Reason.DELETED] == reasons(log)


def test_a_group_of_the_same_name_is_recreated():
    """After a deletion no old member counts as gone."""
    log = Log()
    log.generation(0, 1, member("a", 0))
    log.generation(9_000, 2)
    log.record(99_000, 2)
    log.generation(199_000, 0)
    log.generation(202_000, 1, member("a", 0))

    assert [Reason.DELETED, Reason.CREATED, Reason.FORMED] == reasons(log)[2:]


def test_a_real_deploy_of_static_members_is_recognised():
    """Each came back under a new id, with one generation before and one after."""
    findings = found(kept(), "rolling-static-1-26gt5")
    (deploy,) = findings.deploys

    assert 3 * [Reason.STATIC_REJOIN] == [
        each.reason for each in findings.changes if each.change.rejoined
    ]
    assert (3, 3, 0) == (deploy.renewed, deploy.members, deploy.rebalances)


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        ("crash-range-auto", {Reason.EXPIRED}),
        ("crash-sync-record", {Reason.EXPIRED}),
        ("kip848-crash", {Reason.EXPIRED}),
        ("close-range-auto", {Reason.LEFT}),
        ("kip848-close", {Reason.LEFT}),
        ("pollexceed-range", {Reason.LATE_POLL, Reason.GONE}),
    ],
)
@pytest.mark.long
@pytest.mark.skipif(CAPTURES is None, reason="REBALANCE_CAPTURES names no folder")
def test_real_failures_are_called_what_they_were(begin, expected):
    """Of a real Kafka's logs: crashes, closes and late polls, by silence alone."""
    paths = sorted(Path(CAPTURES or ".", "offsets-log").glob("__consumer_offsets-*.log.gz"))
    findings = [each for each in explore(*read(paths)) if each.group.startswith(begin)]
    first = [
        next(change.reason for change in each.changes if change.change.left) for each in findings
    ]

    assert findings
    assert set(first) <= expected
