"""Findings about a group: pace, cadence, rewinds, idle and flapping members, expiration."""

from __future__ import annotations

import pytest

from emulator.logs.imports.exploring import explore
from emulator.logs.imports.values import Reasons, State

from .found import DAY_MS, WEEK_MS, Log, member

MINUTE = 60_000
HOUR = 3_600_000


def working(until_ms: int = HOUR) -> Log:
    """Let two members work on two partitions each."""
    log = Log()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.steadily(5_000, until_ms, 0, 1, 2, 3)
    return log


def test_cadence_and_rate_are_those_of_the_commits():
    """Every five seconds; 20 records a second and partition."""
    found = working(10 * MINUTE).found()

    assert (0, 0) == (found.rewound, found.deletions)
    assert 5_000 * 0.99 <= found.median_ms <= 5_000
    assert 79.9 < found.rate < 80.1
    assert [("a (10.0.0.7)", 0), ("a (10.0.0.7)", 1)] == [
        (each.member, each.partition) for each in found.cadence[:2]
    ]
    assert {119} == {each.commits for each in found.cadence}


def test_rebalances_an_hour_count_the_time_with_members():
    """The hour in which the group stood empty is not one in which it could rebalance."""
    log = working(HOUR)
    log.generation(HOUR, 2)
    log.generation(2 * HOUR, 3, member("a", 0, 1, 2, 3))
    log.steadily(2 * HOUR + 5_000, 3 * HOUR, 0)
    pace = log.found().pace

    assert (3, 2 * HOUR - 5_000) == (pace.rebalances, pace.active_ms)
    assert 1.5 < pace.an_hour < 1.51


def test_the_worst_hour_is_reported_with_the_rate():
    """Nine quiet hours do not hide a bad one."""
    log = working(9 * HOUR)
    for number in range(8):
        more = () if number % 2 else (member("c"),)
        log.generation(
            9 * HOUR + number * MINUTE, 2 + number, member("a", 0, 1), member("b", 2, 3), *more
        )
    pace = log.found().pace

    assert 8 == pace.worst_hour
    assert 9 * HOUR == pace.worst_hour_from_ms
    assert {"member joined": 4, "member left or expired": 4} == counts(pace.worst_hour_reasons)
    assert {"group formed": 1, "member joined": 4, "member left or expired": 4} == counts(
        pace.reasons
    )
    assert pace.an_hour < 1.1


def counts(reasons: Reasons) -> dict[str, int]:
    """Return the number of rebalances of each reason."""
    return {str(reason): number for reason, number in reasons}


def test_less_than_an_hour_has_no_rate():
    """Two rebalances in a minute are not 120 an hour."""
    log = working(MINUTE)
    log.generation(MINUTE, 2)
    pace = log.found().pace

    assert (2, 2, None) == (pace.rebalances, pace.worst_hour, pace.an_hour)


def test_a_rewind_names_member_and_generation():
    """With those of the commit before."""
    log = working(MINUTE)
    log.generation(MINUTE, 2, member("a", 0, 1, 2, 3))
    log.commit(MINUTE + 1_000, 700, 3)
    (rewind,) = log.found().rewinds

    assert ("orders", 3, 1_100, 700, 400) == (
        rewind.topic,
        rewind.partition,
        rewind.from_offset,
        rewind.to_offset,
        rewind.records,
    )
    assert ("a (10.0.0.7)", 2) == (rewind.member, rewind.epoch)
    assert ("b (10.0.0.7)", 1) == (rewind.member_before, rewind.epoch_before)
    assert "a new owner continued from an older offset" == rewind.words


def test_a_rewind_of_an_empty_group_is_probably_a_reset():
    """No member could have committed it."""
    log = working(MINUTE)
    log.generation(MINUTE, 2)
    log.commit(MINUTE + 1_000, 0, 0)

    assert "the partition had no owner: probably a manual reset" == log.found().rewinds[0].words


def test_an_older_commit_of_the_same_owner_came_late():
    """Or it sought backwards: the log cannot distinguish these."""
    log = working(MINUTE)
    log.commit(MINUTE, 50, 0)

    assert "a delayed older commit" in log.found().rewinds[0].words


def test_a_member_that_comes_back_again_and_again_flaps():
    """Three times within an hour; a deploy a day does not."""
    often, daily = Log(), Log("daily")
    for log, every_ms in ((often, 5 * MINUTE), (daily, DAY_MS)):
        for number in range(4):
            at_ms = number * every_ms
            log.generation(at_ms, 1 + 2 * number, member("a", 0), member("b", 1))
            log.generation(at_ms + MINUTE, 2 + 2 * number, member("a", 0, 1))

    assert ["b (10.0.0.7)"] == [
        str(each) for each in often.found().member_findings if each.flapping
    ]
    assert [] == [str(each) for each in daily.found().member_findings if each.flapping]


def test_a_member_without_partitions_idles():
    """There are more members than partitions."""
    log = Log()
    log.generation(0, 1, member("a", 0), member("b"))

    assert ["b (10.0.0.7)"] == [str(each) for each in log.found().member_findings if each.idle]


def test_no_member_is_idle_with_unreadable_assignments():
    """Members of another protocol type, such as Connect's workers."""
    log = Log()
    workers = [member(name, topics=None, assignment=None) for name in "ab"]
    log.generation(0, 1, *workers, protocol="sessioned")

    assert [None, None] == [each.assigned for each in log.found().member_findings]
    assert not any(each.idle for each in log.found().member_findings)


def test_an_owned_partition_without_progress_is_idle():
    """Committing the same offset again is not progress."""
    log = working(HOUR)
    for at_ms in range(5_000, HOUR, 5_000):
        log.commit(at_ms, 77, 9)
    log.generation(HOUR, 2, member("a", 0, 1, 9), member("b", 2, 3))
    log.steadily(HOUR + 5_000, 2 * HOUR, 0, 1, 2, 3)

    assert [9] == [each.partition for each in log.found().partitions if each.idle]


def test_offsets_of_an_empty_classic_group_expire_from_when_it_became_empty():
    """However old the commits are."""
    log = working(MINUTE)
    log.generation(2 * DAY_MS, 2)
    found = log.found(retention_ms=WEEK_MS, end_ms=8 * DAY_MS)

    assert State.EMPTY is found.state
    assert {9 * DAY_MS} == {each.expires_ms for each in found.partitions}
    assert all(each.at_risk for each in found.partitions)


@pytest.mark.parametrize(("left_ms", "at_risk"), [(WEEK_MS // 4, True), (WEEK_MS // 4 + 1, False)])
def test_offsets_are_at_risk_in_the_last_quarter_of_their_retention(left_ms, at_risk):
    """Of an empty group, whose offsets expire a week after it became empty."""
    log = working(MINUTE)
    log.generation(2 * DAY_MS, 2)
    found = log.found(retention_ms=WEEK_MS, end_ms=9 * DAY_MS - left_ms)

    assert {at_risk} == {each.at_risk for each in found.partitions}


def test_offsets_of_an_empty_consumer_group_expire_from_their_commit():
    """So KIP-848 has it."""
    log = Log()
    log.record(0, 5, member_id="A", members=[member("a", member_id="A")])
    log.record(0, 3, epoch=2)
    log.commit(MINUTE, 5)
    log.record(DAY_MS, 5, member_id="A")
    log.record(DAY_MS, 3, epoch=3)
    (partition,) = log.found(retention_ms=WEEK_MS, end_ms=DAY_MS).partitions

    assert (MINUTE + WEEK_MS, False) == (partition.expires_ms, partition.at_risk)


def test_offsets_in_use_do_not_expire():
    """Those of a topic that the group does not read any more do."""
    log = working(MINUTE)
    log.commit(MINUTE, 5, topic="refunds")
    found = log.found(retention_ms=WEEK_MS, end_ms=MINUTE)

    assert [None] * 4 + [MINUTE + WEEK_MS] == [each.expires_ms for each in found.partitions]


def test_commits_alone_are_a_group_without_members():
    """A simple consumer, or a tool."""
    log = Log()
    log.commit(0, 5)
    found = log.found()

    assert (State.OFFSETS_ONLY, None, ()) == (found.state, found.group_type, found.members)
    assert [0 + WEEK_MS] == [each.expires_ms for each in found.partitions]


def test_aborted_and_pending_commits_do_not_count():
    """Committed ones do, and so do undecided ones."""
    log = Log()
    for number, outcome in enumerate(["committed", "aborted", "pending", "undecided"]):
        log.commit(number, number, transaction=outcome)
    found = log.found()

    assert (2, 2) == (found.commits, found.in_transactions)


def test_topics_known_by_id_alone_get_the_names_that_commits_tell():
    """A consumer group's assignment has ids, its commits have both."""
    log = Log()
    log.record(0, 5, member_id="A", members=[member("a", member_id="A")])
    log.record(0, 3, epoch=2)
    has = [{"topic": "MqLAo9DuQMWcW0M5zgcNyw", "partitions": [0, 1]}]
    log.record(0, 8, member_id="A", epoch=2, members=[{"member_id": "A", "assignment": has}])
    log.commit(MINUTE, 5, 0, topic_id="MqLAo9DuQMWcW0M5zgcNyw")

    assert [("orders", 0, "a (10.0.0.7)"), ("orders", 1, "a (10.0.0.7)")] == [
        (each.topic, each.partition, each.owner) for each in log.found().partitions
    ]


def test_nothing_is_found_in_nothing():
    """An empty import is no mistake."""
    assert [] == list(explore(*Log().tables))


def test_deleted_offsets_are_reported_though_committed_again():
    """A consumer that started in between began at auto.offset.reset."""
    log = working(MINUTE)
    log.commit(MINUTE, None, 2)
    log.commit(MINUTE + 5_000, 7, 2)
    (partition,) = [each for each in log.found().partitions if each.deletions]

    assert (2, 1, MINUTE, 7) == (
        partition.partition,
        partition.deletions,
        partition.deleted_ms,
        partition.offset,
    )
