"""When a coordinator tells that offsets vanish: once their tombstones are durable, else never."""

from __future__ import annotations

from assignors.types import TopicPartition
from protocols.facts import OffsetsDropped
from protocols.machine import Append, Report
from protocols.messages import DeleteGroupsRequest, OffsetDeleteRequest
from protocols.messages.errors import ErrorCode

from .driver import GROUP, GroupDriver

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def committed() -> GroupDriver:
    """Two offsets of nobody in particular; from here on the log is slow."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1, 1: 1})
    driver.hold = True
    return driver


def told(driver: GroupDriver) -> list[tuple[str, tuple[TopicPartition, ...]]]:
    return [(fact.why, fact.partitions) for fact in driver.told(OffsetsDropped)]


def delete_offsets(driver: GroupDriver) -> None:
    driver.send(OffsetDeleteRequest(group_id=GROUP, partitions=(T0, T1)))


def test_offsets_vanish_when_their_tombstones_are_durable():
    """Before the answer goes out; until then a failure may bring them back."""
    driver = committed()
    delete_offsets(driver)
    assert [] == told(driver)
    driver.replicate()

    assert [("deleted", (T0, T1))] == told(driver)
    assert ["Report", "Send"] == [type(effect).__name__ for effect in driver.effects[-2:]]


def test_offsets_whose_tombstones_fail_do_not_vanish():
    """They are there again, and nobody says otherwise."""
    driver = committed()
    driver.refuse = ErrorCode.KAFKA_STORAGE_ERROR
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    assert [] == told(driver)
    assert [1, 1] == [driver.committed(0), driver.committed(1)]


def test_a_deleted_group_takes_its_offsets_along_when_that_is_durable():
    """All of it is one batch."""
    driver = committed()
    driver.send(DeleteGroupsRequest(group_ids=(GROUP,)))
    assert [] == told(driver)
    driver.replicate()

    assert [{T0, T1}] == [set(partitions) for _, partitions in told(driver)]


def test_what_is_durable_after_its_request_timed_out_vanishes_all_the_same():
    """A fact has no time limit: who asked was told that it failed."""
    driver = committed()
    delete_offsets(driver)
    driver.advance(driver.settings.offsets_commit_timeout_ms)
    assert [] == told(driver)
    driver.replicate()

    assert [("deleted", (T0, T1))] == told(driver)


def test_what_is_committed_behind_the_tombstones_has_not_vanished():
    """The news that both are durable comes later than the word of the commit."""
    driver = committed()
    delete_offsets(driver)
    driver.commit(offsets={1: 7})
    driver.replicate()

    assert [("deleted", (T0,))] == told(driver)
    assert 7 == driver.committed(1)


def test_a_coordinator_that_is_unloaded_tells_nothing_more():
    """Whether its last records survive is for the next one to find."""
    driver = committed()
    delete_offsets(driver)
    driver.fail_over(kept=2)

    assert [] == told(driver)
    assert 1 == driver.committed(0)


def test_where_some_batches_of_a_clean_up_fail_the_rest_vanishes():
    """Each tombstone is a batch of its own there; the first stands when the second is refused."""
    driver = committed()
    coordinator, end = driver.coordinator, driver.coordinator.next_log_offset
    step = coordinator.topic_deleted("t", "", 0)
    first, _ = (effect.records[0].key for effect in step.effects if isinstance(effect, Append))
    refused = coordinator.rejected(end + 1, ErrorCode.KAFKA_STORAGE_ERROR, 0)
    assert () == refused.effects
    (told,) = coordinator.durable(end + 1, 0).effects

    gone = (TopicPartition(first.topic, first.partition),)
    assert Report(OffsetsDropped(group=GROUP, partitions=gone, why="topic deleted")) == told
