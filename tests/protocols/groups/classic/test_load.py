"""State that survives a change of the coordinator: load, failover, unload."""

from __future__ import annotations

from dataclasses import replace

from protocols.facts import GroupLoaded, RebalanceStarted
from protocols.groups.classic.records import group_record
from protocols.groups.classic.states import State
from protocols.messages import Protocol
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    Record,
    encode_assignment,
    encode_subscription,
)

from .driver import GroupDriver
from .wire import EPOCH_MS, GROUP, protocols, some, subscription


def stored(**more) -> MemberMetadata:
    return MemberMetadata(
        **{
            "member_id": "a-1",
            "client_id": "a",
            "client_host": "/10.0.0.7",
            "session_timeout": 10_000,
            "subscription": encode_subscription(subscription()),
            "assignment": encode_assignment(some(0)),
            **more,
        }
    )


def loaded_from(*values: GroupMetadataValue | None, **settings) -> GroupDriver:
    """A driver whose log held these records of the group when it was loaded."""
    driver = GroupDriver(**settings)
    driver.log = [Record(GroupMetadataKey(GROUP), value) for value in values]
    driver.begin_load()
    driver._carry_out(driver.coordinator.loaded(driver.now_us))
    return driver


def group_of(*members: MemberMetadata, leader: str | None = "a-1") -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol="range",
        leader=leader,
        current_state_timestamp=EPOCH_MS - 5,
        members=members,
    )


def test_a_loaded_group_is_what_its_record_says():
    """Stable, one protocol a member, no pending member or request, a full session each."""
    driver = loaded_from(group_of(stored(), stored(member_id="b-1", group_instance_id="B")))

    group = driver.group
    assert (State.STABLE, State.DEAD, 7, "consumer", "range", "a-1", EPOCH_MS - 5) == (
        group.state,
        group.previous_state,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.leader_id,
        group.state_since_ms,
    )
    assert {"B": "b-1"} == dict(group.static_members)
    member = driver.group.members["a-1"]
    assert (10_000, 10_000, (Protocol("range", subscription()),)) == (
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
        member.protocols,
    )
    assert frozenset({"t"}) == group.subscribed_topics
    assert [10_000, 10_000] == [driver.session_ms("a-1"), driver.session_ms("b-1")]
    assert {"join-g", "sync-g"}.isdisjoint(driver.timers)
    (event,) = driver.emitted(GroupLoaded)
    assert (GROUP, 7, {"a-1", "b-1"}) == (event.group, event.generation, set(event.members))


def test_the_last_record_of_a_group_counts():
    """A tombstone deletes it."""
    empty = GroupMetadataValue(protocol_type="consumer", generation=8, protocol=None, leader=None)

    assert State.EMPTY == loaded_from(group_of(stored()), empty).state
    assert State.ABSENT == loaded_from(group_of(stored()), None).state


def test_a_record_without_a_leader_is_led_by_its_first_member():
    """In the order of the record."""
    driver = loaded_from(group_of(stored(member_id="z-1"), stored(), leader=None))

    assert "z-1" == driver.group.leader_id


def test_a_group_that_is_too_large_rebalances_when_it_is_loaded():
    """An ordinary join phase, without the initial delay."""
    driver = loaded_from(
        group_of(stored(), stored(member_id="b-1", rebalance_timeout=60_000)), group_max_size=1
    )

    assert State.PREPARING_REBALANCE == driver.state
    assert driver.group.window is None
    assert 60_000_000 == driver.timers["join-g"] - driver.now_us
    assert "over capacity 1." in driver.emitted(RebalanceStarted)[0].reason


def test_a_group_of_exactly_the_maximum_size_stays_stable_when_it_is_loaded():
    """``group.max.size`` members are allowed."""
    driver = loaded_from(group_of(stored(), stored(member_id="b-1")), group_max_size=2)

    assert State.STABLE == driver.state
    assert [] == driver.emitted(RebalanceStarted)


def test_a_group_of_another_protocol_type_is_loaded_unread():
    """Its members' metadata are not the consumer protocol's: their topics are unknown."""
    sent = b"\x00\x00connect"
    members = (stored(subscription=sent, assignment=b"\xff\xff"),)
    driver = loaded_from(replace(group_of(*members), protocol_type="connect"))

    assert State.STABLE == driver.state
    assert driver.group.subscribed_topics is None
    assert () == driver.group.assignments["a-1"]


def test_topics_that_cannot_be_read_are_not_known():
    """In a consumer group as well; then its offsets count as subscribed, all of them."""
    cut_off = encode_subscription(subscription())[:-20]

    assert loaded_from(group_of(stored(subscription=cut_off))).group.subscribed_topics is None


def test_a_coordinator_reads_the_topics_alone():
    """Nonsense behind them does not matter to it."""
    sent = encode_subscription(subscription("u"))
    driver = loaded_from(group_of(stored(subscription=sent[:-4] + b"\x7f")))

    assert frozenset({"u"}) == driver.group.subscribed_topics


def test_a_member_without_a_stored_assignment_has_none():
    """Bytes that are empty are not an assignment of nothing; they are written back so."""
    driver = loaded_from(group_of(stored(assignment=b"")))
    (member,) = group_record(driver.group, driver.group.assignments).value.members

    assert {} == dict(driver.group.assignments)
    assert b"" == member.assignment


def test_an_empty_group_keeps_its_generation_and_its_time():
    """Its next members go through the initial delay."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.leave(a)
    since_ms = driver.group.state_since_ms
    driver.advance(10_000)

    driver.fail_over()

    assert (State.EMPTY, 2, since_ms) == (
        driver.state,
        driver.group.generation,
        driver.group.state_since_ms,
    )
    _, joined = driver.enter("b")
    assert 3_000_000 == driver.timers["join-g"] - driver.now_us
    driver.advance(3_000)
    assert 3 == joined.answer.generation_id


def test_a_first_rebalance_is_forgotten():
    """An empty group of generation 0 is left; all members start over."""
    driver = GroupDriver()
    a, joined = driver.enter("a")

    driver.fail_over()

    assert (ErrorCode.NOT_COORDINATOR, a) == (joined.error, joined.answer.member_id)
    assert (State.EMPTY, 0, {}) == (
        driver.state,
        driver.group.generation,
        dict(driver.group.members),
    )
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("a", a).error


def test_a_creation_that_was_not_replicated_never_was():
    """The group is absent on the new coordinator."""
    driver = GroupDriver()
    driver.hold = True
    a = driver.new_id("a")

    driver.fail_over(kept=0)

    assert State.ABSENT == driver.state
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("a", a).error


def test_members_that_had_gone_are_back_until_their_session_runs_out():
    """The rebalance their going began is forgotten, or waits for them again."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b", session_ms=6_000)
    driver.leave(b)
    driver.fail_over()

    assert (State.STABLE, {a, b}) == (driver.state, set(driver.group.members))
    again = driver.join("a", a, session_ms=6_000, offers=protocols(generation_id=1))
    driver.advance(5_999.999)
    assert not again.answered
    driver.advance(0.001)
    assert [a] == [member.member_id for member in again.answer.members]


def test_a_sync_phase_whose_record_is_lost_falls_back_a_generation():
    """Its number is handed out again, to other members perhaps."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.join("a", a)
    driver.hold = True
    synced = driver.sync(a, {a: some(1)})

    driver.fail_over(kept=len(driver.log) - 1)

    assert ErrorCode.NOT_COORDINATOR == synced.error
    assert (State.STABLE, 1) == (driver.state, driver.group.generation)
    assert ErrorCode.ILLEGAL_GENERATION == driver.heartbeat(a, 2).error
    assert 2 == driver.join("a", a).answer.generation_id


def test_a_sync_phase_whose_record_is_kept_is_complete():
    """Although its followers got NOT_COORDINATOR."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.join("a", a)
    driver.join("b", b)
    driver.hold = True
    follower = driver.sync(b)
    leader = driver.sync(a, {a: some(1), b: some(2)})

    driver.fail_over()
    driver.hold = False

    assert [ErrorCode.NOT_COORDINATOR] * 2 == [leader.error, follower.error]
    assert (State.STABLE, 2) == (driver.state, driver.group.generation)
    assert some(2) == driver.sync(b).answer.assignment


def test_after_a_load_a_member_that_offers_two_assignors_never_matches():
    """Only the chosen one was stored, so its next JoinGroup begins a rebalance."""
    driver = GroupDriver()
    offers = protocols("range", "cooperative-sticky")
    _, b = driver.stable("a", "b", offers=offers)
    driver.fail_over()

    again = driver.join("b", b, offers=offers)

    assert not again.answered
    assert State.PREPARING_REBALANCE == driver.state
    assert (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        == driver.join("x", offers=protocols("cooperative-sticky")).error
    )


def test_after_a_load_a_member_with_that_one_protocol_is_answered():
    """Of the old generation, without a rebalance."""
    driver = GroupDriver()
    _, b = driver.stable("a", "b")
    driver.fail_over()

    again = driver.join("b", b)

    assert (ErrorCode.NONE, 1) == (again.error, again.answer.generation_id)


def test_right_after_a_load_a_plain_fetch_may_go_back_in_time():
    """Loaded records that are not durable yet delay other requests."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.commit(a, {0: 1})
    driver.hold = True
    driver.commit(a, {0: 2})

    driver.fail_over(durable=len(driver.log) - 1)

    assert 1 == driver.committed()
    stable, beat = driver.fetch(0, stable=True), driver.heartbeat(a)
    assert not stable.answered
    assert not beat.answered
    driver.replicate()
    assert (2, ErrorCode.NONE) == (stable.answer.offsets[0].offset, beat.error)
    assert 2 == driver.committed()


def test_a_log_may_end_beyond_its_last_record():
    """Compaction leaves gaps; the next record goes to the end of the log."""
    driver = GroupDriver()
    driver.begin_load()

    driver.coordinator.loaded(0, log_end=17)

    assert 17 == driver.coordinator.next_log_offset
