"""A coordinator emits deleted offsets once their tombstones are durable, else never."""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.facts import OffsetsDropped
from protocols.machine import Append, Report
from protocols.messages import DeleteGroupsRequest, OffsetDeleteRequest
from protocols.messages.errors import ErrorCode

from .driver import GROUP, GroupDriver

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def committed() -> GroupDriver:
    """Return a driver with two offsets of a simple group; from here on the log is slow."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1, 1: 1})
    driver.hold = True
    return driver


def dropped(driver: GroupDriver) -> list[tuple[str, tuple[TopicPartition, ...]]]:
    return [(fact.why, fact.partitions) for fact in driver.emitted(OffsetsDropped)]


def delete_offsets(driver: GroupDriver) -> None:
    driver.send(OffsetDeleteRequest(group_id=GROUP, partitions=(T0, T1)))


def test_offsets_vanish_when_their_tombstones_are_durable():
    """Before the answer goes out; until then a failure may bring them back."""
    driver = committed()
    delete_offsets(driver)
    assert [] == dropped(driver)
    driver.replicate()

    assert [("deleted", (T0, T1))] == dropped(driver)
    assert ["Report", "Send"] == [type(effect).__name__ for effect in driver.effects[-2:]]


def test_offsets_whose_tombstones_fail_do_not_vanish():
    """They are there again, and no event says otherwise."""
    driver = committed()
    driver.refuse = ErrorCode.KAFKA_STORAGE_ERROR
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    assert [] == dropped(driver)
    assert [1, 1] == [driver.committed(0), driver.committed(1)]


def test_a_deleted_group_takes_its_offsets_along_when_that_is_durable():
    """All of it is one batch."""
    driver = committed()
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))
    assert [] == dropped(driver)
    driver.replicate()

    assert [{T0, T1}] == [set(partitions) for _, partitions in dropped(driver)]


def test_tombstones_durable_after_a_timeout_delete_offsets():
    """An event has no time limit: the client got a timeout."""
    driver = committed()
    delete_offsets(driver)
    driver.advance(driver.settings.offsets_commit_timeout_ms)
    assert [] == dropped(driver)
    driver.replicate()

    assert [("deleted", (T0, T1))] == dropped(driver)


def test_offsets_committed_after_the_tombstones_are_not_deleted():
    """Both become durable before the event of the commit."""
    driver = committed()
    delete_offsets(driver)
    driver.commit(offsets={1: 7})
    driver.replicate()

    assert [("deleted", (T0,))] == dropped(driver)
    assert 7 == driver.committed(1)


def test_an_unloaded_coordinator_emits_nothing_more():
    """Whether its last records survive is decided by the next coordinator."""
    driver = committed()
    delete_offsets(driver)
    driver.fail_over(kept=2)

    assert [] == dropped(driver)
    assert 1 == driver.committed(0)


def test_where_some_batches_of_a_clean_up_fail_the_rest_vanishes():
    """Each tombstone is a batch of its own there; the first is kept when the second fails."""
    driver = committed()
    coordinator, end = driver.coordinator, driver.coordinator.next_log_offset
    step = coordinator.topic_deleted("t", "", 0)
    first, _ = (effect.records[0].key for effect in step.effects if isinstance(effect, Append))
    refused = coordinator.rejected(end + 1, ErrorCode.KAFKA_STORAGE_ERROR, 0)
    assert () == refused.effects
    (dropped,) = coordinator.durable(end + 1, 0).effects

    gone = (TopicPartition(first.topic, first.partition),)
    assert Report(OffsetsDropped(group=GROUP, partitions=gone, why="topic deleted")) == dropped
