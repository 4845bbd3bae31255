"""A shard that is unloaded, or not yet loaded."""

from __future__ import annotations

import pytest

from protocols.coordinator.machine import Phase
from protocols.groups.classic.states import State
from protocols.messages import HeartbeatRequest, TopicDescription
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import GROUP, errors_of


def test_an_unloaded_shard_answers_all_waiting_requests():
    """Parked JoinGroups keep their member id; requests that wait for the log are answered, too."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.hold = True
    commit = driver.commit(a)
    beat = driver.heartbeat(b)
    joined = driver.join("a", a)

    driver.coordinator.check()
    driver._carry_out(driver.coordinator.unload(driver.now_us))

    assert [ErrorCode.NOT_COORDINATOR] == errors_of(commit)
    assert ErrorCode.NOT_COORDINATOR == beat.error
    assert (ErrorCode.NOT_COORDINATOR, "") == (joined.error, joined.answer.member_id)
    assert {} == driver.timers
    assert Phase.UNLOADED is driver.coordinator.phase
    assert {State.DEAD} == {group.state for group in driver.shard.groups.values()}


def test_an_unload_in_the_sync_phase_releases_the_followers():
    """With NOT_COORDINATOR and no assignment; no rebalance event is emitted."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.join("a", a)
    driver.join("b", b)
    synced = driver.sync(b)
    facts = len(driver.facts)

    driver._carry_out(driver.coordinator.unload(driver.now_us))

    assert (ErrorCode.NOT_COORDINATOR, ()) == (synced.error, synced.answer.assignment)
    assert facts == len(driver.facts)


def test_an_unload_undoes_a_restart_on_its_way_to_the_log():
    """The static member gets NOT_COORDINATOR; no event says that its new id was valid."""
    driver = GroupDriver()
    driver.static("R", "S")
    driver.hold = True
    back = driver.join("S", instance="S")

    driver._carry_out(driver.coordinator.unload(driver.now_us))

    assert (ErrorCode.NOT_COORDINATOR, "") == (back.error, back.answer.member_id)


def test_an_unloaded_shard_coordinates_nothing():
    """Requests, timers and news of the log have no effect."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver._carry_out(driver.coordinator.unload(driver.now_us))
    before = driver.shard

    assert ErrorCode.NOT_COORDINATOR == driver.join("a", a).error
    request = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=a)
    assert ErrorCode.NOT_COORDINATOR == driver.send(request).error
    assert [ErrorCode.NOT_COORDINATOR] == errors_of(driver.commit(a, generation=1))
    coordinator = driver.coordinator
    for step in (
        coordinator.wake("join-g", 0),
        coordinator.durable(99, 0),
        coordinator.rejected(0, ErrorCode.NOT_ENOUGH_REPLICAS, 0),
        coordinator.topic_deleted("t", "id", 0),
        coordinator.unload(0),
    ):
        assert () == step.effects
    assert before == driver.shard


def test_a_loading_shard_still_knows_which_topics_there_are():
    """A commit to an unknown topic is refused for that."""
    driver = GroupDriver(topics=[TopicDescription("t", "id", (1,))])
    driver.begin_load()

    call = driver.commit("a-1", {0: 1, 5: 1}, generation=1)

    assert [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ] == errors_of(call)


def test_only_group_requests_are_answered():
    """Anything else is a mistake of the host."""
    driver = GroupDriver()

    with pytest.raises(TypeError, match="TopicDescription"):
        driver.send(TopicDescription("t", "id", ()))
