"""Explanations that the logs do not tell apart are one, with their clients."""

from __future__ import annotations

from dataclasses import replace

from emulator.blaming.explanations import CLIENTS_DIFFER, Explanation, merged
from emulator.blaming.happening import MID_BATCH, NOTHING
from emulator.blaming.policies import ON_REVOKE, Policy

AUTO = Policy("automatic commits", "auto")
BY_POLL = replace(AUTO, client="librdkafka", read_with="poll")
SYNC = Policy("commitSync after each batch", "sync")
CLOSED = replace(NOTHING, name="close", words="m1 closed")
IN_BATCH = replace(NOTHING, name=f"close{MID_BATCH}", words="m1 closed in mid-batch")


def explained(policy, happening, distance: float, repeated: float = 0) -> Explanation:
    figures = {"repeated": (repeated, repeated, repeated)}
    return Explanation(policy, happening, {}, figures, distance)


def words(*ranked: Explanation) -> list[str]:
    return [each.words for each in merged(ranked)]


def test_a_client_that_fits_about_as_well_is_named_with_its_fit():
    assert words(
        explained(AUTO, CLOSED, 0.1, 1),
        explained(SYNC, CLOSED, 0.15, 2),
        explained(BY_POLL, CLOSED, 0.2, 3),
    ) == [
        "java, automatic commits (or librdkafka with poll, 82 %); m1 closed",
        "java, commitSync after each batch; m1 closed",
    ]


def test_a_client_that_fits_much_less_is_an_explanation_of_its_own():
    ranked = [
        explained(AUTO, CLOSED, 0.1, 1),
        explained(BY_POLL, CLOSED, 0.1 + CLIENTS_DIFFER + 0.01, 3),
    ]

    assert len(merged(ranked)) == 2


def test_commits_by_the_other_call_are_one_policy():
    """The offsets log shows the same commits of both."""
    by_async = Policy("commitAsync after each batch", "async")

    assert words(explained(SYNC, CLOSED, 0.1, 1), explained(by_async, CLOSED, 0.2, 2)) == [
        "java, commitSync after each batch (or commitAsync after each batch, 82 %); m1 closed"
    ]
    assert SYNC.quiet_commits != by_async.quiet_commits


def test_another_way_to_close_is_one_where_it_fits_about_as_well():
    """A consumer without records in hand closes the same in both ways; a lost batch tells them apart."""
    best = explained(AUTO, CLOSED, 0.1, 1)

    assert words(best, explained(AUTO, IN_BATCH, 0.2, 2)) == [
        "java, automatic commits; m1 closed (or m1 closed in mid-batch, 82 %)"
    ]
    assert len(words(best, explained(AUTO, IN_BATCH, 0.1 + CLIENTS_DIFFER + 0.01, 2))) == 2


def test_commits_when_partitions_are_revoked_are_named_where_they_change_little():
    """A join shows them: there the fits differ by more than those of two runs."""
    interval = Policy("commitSync at an interval", "sync")
    listener = replace(interval, name=interval.name + ON_REVOKE)

    assert words(explained(interval, CLOSED, 0.1, 1), explained(listener, CLOSED, 0.2, 2)) == [
        f"java, {interval.name} (or {listener.name}, 82 %); m1 closed"
    ]
    worse = explained(interval, CLOSED, 0.1 + CLIENTS_DIFFER + 0.01, 2)
    assert 2 == len(words(explained(listener, CLOSED, 0.1, 1), worse))
