"""What a host may ask of a coordinator that loads, is active or has been unloaded, and what it must not."""

from __future__ import annotations

import pytest

from protocols.coordinator.durability import Durability, HostContractError
from protocols.facts import OffsetsDropped
from protocols.groups.shard import Durable
from protocols.messages import DescribeGroupRequest, OffsetDeleteRequest
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import Record
from protocols.values import replace

from ..groups.classic.driver import GROUP, GroupDriver, some
from ..groups.kip848.driver import ConsumerGroupDriver, topic

E = ErrorCode


def test_a_timer_that_was_never_set_is_refused():
    driver = GroupDriver()

    with pytest.raises(HostContractError, match="never set a timer 'no-timer'"):
        driver.coordinator.wake("no-timer", 0)


def test_a_group_is_described_once_its_record_is_durable():
    """Until then readers do not see it."""
    driver = GroupDriver()
    driver.hold = True
    a, _ = driver.enter("a")
    driver.advance(3_000)
    driver.sync(a, {a: some(0)})
    before = driver.send(DescribeGroupRequest(group_id=GROUP))
    driver.replicate()
    after = driver.send(DescribeGroupRequest(group_id=GROUP))

    assert ["Dead", "Stable"] == [call.answer.state for call in (before, after)]


# -- the log ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("durable_to", [0, 1, 2, 3])
def test_a_load_shows_readers_what_is_below_the_high_watermark(durable_to: int):
    """The coordinator itself has all of it."""
    driver = GroupDriver()
    for offset in (1, 2, 3):
        driver.commit(offsets={0: offset})
    log = Durability()
    log.advance(durable_to)
    newest = log.replay(Durable(), enumerate(driver.log))
    log.load_end(3)
    log.check(newest)
    seen = [state.offset(GROUP, "t", 0) for state in (log.view, newest)]

    assert [durable_to or None, 3] == [value and value.offset for value in seen]
    assert [] == log.in_flight()


@pytest.mark.parametrize("more", [0, 5])
def test_a_log_that_skips_periods_has_as_much_that_is_not_durable_as_before(more: int):
    """Its readers see what is below the high watermark then."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1})
    driver.hold = True
    driver.commit(offsets={0: 2})
    log = driver.coordinator.log
    last = [
        (more + n, Record(record.key, record.value._replace(offset=7 + n)))
        for n, record in enumerate(driver.log)
    ]
    newest = log.skip(driver.shard.durable, last if more else [], 2 + more)
    log.check(newest)
    seen = [state.offset(GROUP, "t", 0).offset for state in (log.view, newest)]

    assert ([7, 8] if more else [1, 2]) == seen
    assert (1 + more, 2 + more) == (log.high_watermark, log.next_log_offset)


def test_a_fact_of_an_append_before_the_one_that_failed_is_reported():
    """Its own records may yet be durable."""
    driver = GroupDriver()
    driver.commit(offsets={0: 1})
    driver.hold = True
    driver.send(OffsetDeleteRequest(group_id=GROUP, partitions=some(0)))
    driver.commit(offsets={1: 1})
    driver.reject(2, E.NOT_ENOUGH_REPLICAS)
    assert not driver.emitted(OffsetsDropped)

    driver.replicate()
    assert [some(0)] == [fact.partitions for fact in driver.emitted(OffsetsDropped)]


def test_no_response_waits_for_what_is_durable():
    """The check of a debug run notices it."""
    driver = GroupDriver()
    driver.hold = True
    driver.commit(offsets={0: 1})
    log = driver.coordinator.log
    log.check(driver.shard.durable)
    log.high_watermark = log.next_log_offset

    with pytest.raises(AssertionError):
        log.check(driver.shard.durable)


# -- its phases --------------------------------------------------------------------------------------


def test_only_an_active_coordinator_recurs():
    """One that has been unloaded has nothing to repeat."""
    driver = GroupDriver()
    driver.stable("a")
    assert driver.coordinator.recurring(driver.now_us) is not None

    driver.coordinator.unload(driver.now_us)
    assert driver.coordinator.recurring(driver.now_us) is None


def test_a_heartbeat_is_refused_by_a_coordinator_that_loads_or_has_been_unloaded():
    """Also one that would only renew a session."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.settle("A")
    answer = it.beat("A")
    assert answer.error is E.NONE
    it.coordinator.unload(it.now_us)

    assert it.beat("A", answer.epoch).error is E.NOT_COORDINATOR

    it.begin_load()
    assert it.beat("A", answer.epoch).error is E.COORDINATOR_LOAD_IN_PROGRESS


def test_new_topics_change_what_consumer_groups_know():
    """Those of an active coordinator count as new names only if they are."""
    it = ConsumerGroupDriver(topic("t", 2))
    it.join("A", "t")
    it.settle("A")
    since = it.coordinator._broker.image.names_since
    it.topics_are(topic("t", 4))
    it.beat("A")

    assert (1, 4) == it.coordinator.target_size("g")
    assert since == it.coordinator._broker.image.names_since


def test_the_check_of_a_debug_run_looks_at_an_active_coordinator():
    driver = GroupDriver()
    driver.stable("a")
    driver.coordinator.state = replace(driver.shard, durable=Durable())

    with pytest.raises(AssertionError):
        driver.coordinator.check()
    driver.coordinator.unload(driver.now_us)
    driver.coordinator.check()
