"""Expiration of offsets, and its start (KIP-211)."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.facts import OffsetsDropped
from protocols.groups.classic.states import State
from protocols.messages import OffsetCommitRequest, OffsetToCommit
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, OffsetCommitKey

from .driver import GroupDriver
from .wire import GROUP

MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def short(**more) -> GroupDriver:
    """A driver whose offsets live for an hour and are looked at every ten minutes."""
    return GroupDriver(offsets_retention_minutes=60, **more)


def alive(driver: GroupDriver, member_id: str, minutes: int) -> None:
    """Let time pass while a member sends heartbeats."""
    for _ in range(minutes * 2):
        driver.advance(30_000)
        driver.heartbeat(member_id)


def test_the_job_runs_first_an_interval_after_the_load_and_then_again():
    """Whatever else happens."""
    driver = GroupDriver(offsets_retention_check_interval_ms=1_000)

    assert 1_000_000 == driver.timers["expire-group-metadata"]
    driver.advance(2_500)
    assert 3_000_000 == driver.timers["expire-group-metadata"]


def test_offsets_of_a_simple_group_count_from_their_commit():
    """When the last is gone, so is the group."""
    driver = short()
    driver.commit(offsets={0: 1})
    driver.advance(30 * MINUTE)
    driver.commit(offsets={1: 1})

    driver.advance(30 * MINUTE)
    assert [-1, 1] == [driver.committed(0), driver.committed(1)]
    driver.advance(29 * MINUTE)
    assert State.EMPTY == driver.state
    driver.advance(1 * MINUTE)

    assert State.ABSENT == driver.state
    assert [OffsetCommitKey(GROUP, "t", 1), GroupMetadataKey(GROUP)] == [
        record.key for record in driver.batches[-1]
    ]
    assert {"expired"} == {fact.why for fact in driver.emitted(OffsetsDropped)}


def test_offsets_of_an_emptied_group_count_from_when_it_became_empty():
    """Also those committed long after that."""
    driver = short()
    (a,) = driver.stable("a")
    driver.commit(a, {0: 1})
    driver.leave(a)
    driver.advance(55 * MINUTE)
    driver.commit(offsets={1: 1})

    driver.advance(15 * MINUTE)

    assert State.ABSENT == driver.state


def test_offsets_of_topics_that_are_read_never_expire():
    """Those of others do, counted from their commit."""
    driver = short()
    (a,) = driver.stable("a", session_ms=60_000)
    driver.commit(a, {0: 1})
    driver.commit(a, {0: 1}, topic="u")

    alive(driver, a, 71)

    assert [1, -1] == [driver.committed(), driver.committed(topic="u")]


def test_whether_anything_can_expire_depends_on_what_is_read_and_on_who_is_there():
    """A host that skips time asks; a group without members may be removed itself."""
    driver = short()
    assert driver.coordinator.expires_nothing()
    (a,) = driver.stable("a", session_ms=60_000)
    driver.commit(a, {0: 1})
    assert driver.coordinator.expires_nothing()

    driver.commit(a, {0: 1}, topic="u")
    assert not driver.coordinator.expires_nothing()

    alive(driver, a, 71)
    assert driver.coordinator.expires_nothing()
    driver.leave(a)
    assert not driver.coordinator.expires_nothing()


def test_nothing_expires_while_a_group_rebalances():
    """Nor in a stable group of another type."""
    driver = short()
    (a,) = driver.stable("a", session_ms=60_000, protocol_type="connect")
    driver.commit(a, {0: 1}, topic="u")
    alive(driver, a, 71)
    assert 1 == driver.committed(topic="u")

    second = short()
    b, _ = second.enter("b", session_ms=1_800_000, rebalance_ms=7_200_000)
    second.settle([b])
    second.commit(b, {0: 1}, topic="u")
    second.new_id("c", session_ms=1_800_000, rebalance_ms=7_200_000)
    second.join("b", b, session_ms=1_800_000, rebalance_ms=7_200_000)
    for _ in range(8):
        second.advance(10 * MINUTE)
        second.new_id("c", session_ms=1_800_000)

    assert State.PREPARING_REBALANCE == second.state
    assert 1 == second.committed(topic="u")


@pytest.mark.parametrize(("minutes", "left"), [(9, 1), (11, -1)])
def test_an_explicit_retention_overrides_the_brokers(minutes: int, left: int):
    """As old clients could ask for."""
    driver = short()
    driver.commit(retention_time_ms=10 * MINUTE, version=3)

    driver.advance(minutes * MINUTE)

    assert left == driver.committed()


def test_an_empty_group_without_offsets_goes_at_the_next_run():
    """Also if ids were handed out; their holders are strangers then."""
    driver = short()
    a = driver.new_id("a", session_ms=1_800_000)

    driver.advance(10 * MINUTE)

    assert State.ABSENT == driver.state
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("a", a).error
    driver.advance(30 * MINUTE)


def test_the_default_is_a_week():
    """Looked at every ten minutes."""
    driver = GroupDriver()
    driver.commit()

    driver.advance(7 * DAY - 1)
    assert 1 == driver.committed()
    driver.advance(1)
    assert -1 == driver.committed()


def test_an_old_record_without_a_time_counts_from_the_commit():
    """When the group became empty is not known then."""
    driver = short()
    (a,) = driver.stable("a")
    driver.commit(a)
    driver.leave(a)
    record = driver.log[-1]
    old = type(record.value)(protocol_type="consumer", generation=2, protocol=None, leader=None)
    driver.log[-1] = record._replace(value=old)
    driver.advance(30 * MINUTE)
    driver.fail_over()

    assert driver.group.state_since_ms is None
    driver.advance(30 * MINUTE)
    assert State.ABSENT == driver.state


def test_groups_go_in_the_order_of_the_coordinators_table():
    """As measured: three groups of one partition of the offsets topic."""
    driver = short()
    names = [
        "crash-range-auto-1-hrkn4",
        "close-range-auto-2-t42bc",
        "pollexceed-range-sync-1-88dgb",
    ]
    for name in names:
        offset = OffsetToCommit(TopicPartition("t", 0), 1)
        driver.send(OffsetCommitRequest(group_id=name, offsets=(offset,)))

    driver.advance(60 * MINUTE)

    gone = [r.key.group for r in driver.batches[-1] if isinstance(r.key, GroupMetadataKey)]
    assert [names[1], names[2], names[0]] == gone
