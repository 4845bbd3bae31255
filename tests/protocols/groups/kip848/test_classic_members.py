"""Members of a consumer group that still speak the classic protocol."""

from __future__ import annotations

from protocols.facts import Departure, MemberRemoved
from protocols.messages import LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode

from ..migration.driver import AGAIN, GROUP, Migration, consumers, convert, some
from .driver import topic


def test_a_cooperative_member_gives_up_in_two_steps():
    """Its heartbeat gets REBALANCE_IN_PROGRESS; it joins, gets less, and joins again with less."""
    it = convert()
    x = it.ids["x"]
    assert AGAIN == it.beat_classic("x", 1)

    first = it.join_classic("x", 0, 1, 2, 3).answer
    assert (ErrorCode.NONE, 1, "cooperative-sticky") == (
        first.error,
        first.generation_id,
        first.protocol_name,
    )
    assert ("", ()) == (first.leader, first.members)
    assert some(0, 1) == it.sync("x", 1).answer.assignment
    assert {2, 3} == it.revoking(x)
    assert AGAIN == it.beat_classic("x", 1)

    second = it.join_classic("x", 0, 1).answer
    assert 2 == second.generation_id
    assert some(0, 1) == it.sync("x", 2).answer.assignment
    assert ErrorCode.NONE == it.beat_classic("x", 2)
    assert {"t": {2, 3}} == it.beat("C").assignment


def test_an_eager_member_gives_up_with_the_join_itself():
    """It owns nothing whenever it joins."""
    it = convert()
    assert AGAIN == it.beat_classic("x", 1)

    assert 2 == it.join_classic("x").answer.generation_id
    assert some(0, 1) == it.sync("x", 2).answer.assignment
    assert {"t": {2, 3}} == it.beat("C").assignment


def test_a_member_that_waits_joins_again_when_all_of_it_is_free():
    """Behind, to give up, or free by now: the three reasons to join."""
    it = consumers()
    joined = it.enter("x").answer
    assert (3, ()) == (joined.generation_id, it.sync("x", 3).answer.assignment)
    assert ErrorCode.NONE == it.beat_classic("x", 3)
    it.beat("C")
    assert ErrorCode.NONE == it.beat_classic("x", 3)
    it.acknowledge("C")

    assert AGAIN == it.beat_classic("x", 3)
    assert 3 == it.join_classic("x").answer.generation_id
    assert 2 == len(it.sync("x", 3).answer.assignment)
    assert ErrorCode.NONE == it.beat_classic("x", 3)


def test_a_member_that_does_not_join_again_in_time_is_removed():
    """From the first REBALANCE_IN_PROGRESS; its heartbeats do not help."""
    it = convert()
    it.beat_classic("x", 1)
    for _ in range(3):
        it.advance(5_000)
        assert AGAIN == it.beat_classic("x", 1)
    it.advance(5_000)

    assert [Departure.DID_NOT_REJOIN] == [fact.why for fact in it.emitted(MemberRemoved)]


def test_a_member_that_does_not_sync_in_time_is_removed():
    """After it joined; its sync ends the wait."""
    it = convert()
    it.join_classic("x")
    it.advance(9_000)
    it.beat_classic("x", 2)
    it.advance(9_000)
    it.beat_classic("x", 2)
    it.advance(2_000)

    assert [Departure.DID_NOT_SYNC] == [fact.why for fact in it.emitted(MemberRemoved)]


def test_the_time_to_rejoin_runs_from_the_first_request_after_each_join():
    """A sync does not end it: the member still has to revoke partitions."""
    it = convert()
    it.beat_classic("x", 1)
    it.join_classic("x", 0, 1, 2, 3)
    it.advance(2_000)
    assert AGAIN == it.beat_classic("x", 1)
    it.sync("x", 1)
    it.advance(2_000)
    assert AGAIN == it.beat_classic("x", 1)

    assert 22_000_000 == it.timers[f"rejoin-timeout-{GROUP}-{it.ids['x']}"]


def test_the_timers_of_a_join_begin_when_its_records_are_durable():
    """Session and sync timeout; only then the rejoin timeout ends."""
    it = convert()
    it.beat_classic("x", 1)
    names = {of: f"{of}-timeout-{GROUP}-{it.ids['x']}" for of in ("session", "rejoin", "resync")}
    it.hold = True
    it.join_classic("x")
    before = {of: it.timers.get(name) for of, name in names.items()}
    it.advance(3)
    it.replicate()

    assert {"session": 10_000_000, "rejoin": 20_000_000, "resync": None} == before
    assert {"session": 10_003_000, "rejoin": None, "resync": 20_003_000} == {
        of: it.timers.get(name) for of, name in names.items()
    }


def test_the_timers_of_a_join_stay_if_its_records_are_not_written():
    """It still has to join again in time: the first request to do so counts."""
    it = convert()
    it.beat_classic("x", 1)
    it.advance(2_000)
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == it.join_classic("x").error
    it.beat_classic("x", 1)

    assert 20_000_000 == it.timers[f"rejoin-timeout-{GROUP}-{it.ids['x']}"]
    assert f"resync-timeout-{GROUP}-{it.ids['x']}" not in it.timers


def test_a_sync_renews_the_session_when_all_before_it_is_durable():
    """What another member got is still replicated: answer and session wait for it."""
    it = convert()
    it.join_classic("x")
    it.hold = True
    it.beat("C")
    synced = it.sync("x", 2)
    it.advance(5)
    assert not synced.answers
    it.replicate()

    assert ErrorCode.NONE == synced.error
    assert it.now_us + 10_000_000 == it.timers[f"session-timeout-{GROUP}-{it.ids['x']}"]


def test_a_member_that_says_good_bye_has_left():
    """LeaveGroup is how classic members do so; of others only an administrator does."""
    it = convert()
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(it.ids["x"]),)))
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("C"),)))

    emitted = [fact.why for fact in it.emitted(MemberRemoved)]
    assert [Departure.LEFT, Departure.REMOVED] == emitted


def test_requests_of_the_wrong_generation_or_member_are_refused():
    """As in a classic group."""
    it = convert()
    it.ids["Z"], it.ids["C"] = "Z", "C"

    assert ErrorCode.ILLEGAL_GENERATION == it.beat_classic("x", 9)
    assert ErrorCode.ILLEGAL_GENERATION == it.sync("x", 9).error
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat_classic("Z", 1)
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.sync("C", 2).error
    wrong = it.sync("x", 1, protocol_name="range")
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == wrong.error
    assert AGAIN == it.sync("x", 1).error
    assert ErrorCode.ILLEGAL_GENERATION == it.commit(it.ids["x"], 2, 0)
    assert ErrorCode.NONE == it.commit(it.ids["x"], 1, 0)


def test_a_classic_newcomer_needs_a_policy_room_and_a_protocol_that_all_have():
    """Each refused in its own words."""
    it = convert()
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == it.join_classic("y", names=("range",)).error
    full = convert(group_consumer_max_size=2)
    assert ErrorCode.GROUP_MAX_SIZE_REACHED == full.join_classic("y").error
    closed = Migration(group_consumer_migration_policy="disabled")
    closed.join("C")
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == closed.join_classic("y").error


def test_a_static_member_changes_its_protocol_in_place():
    """It keeps its partitions; the other's id goes."""
    it = Migration()
    it.join("A", instance="i")
    it.join("C")
    it.settle("A", "C")
    mine = it.assigned("A")
    epoch = it.group.epoch

    joined = it.join_classic("x", group_instance_id="i").answer

    assert (ErrorCode.NONE, epoch) == (joined.error, joined.generation_id)
    assert (mine, epoch) == (it.assigned(it.ids["x"]), it.group.epoch)
    assert it.group.member("A") is None
    stranger = it.join_classic("z", group_instance_id="i", member_id="Z")
    assert ErrorCode.FENCED_INSTANCE_ID == stranger.error


def test_a_member_that_goes_back_to_the_classic_protocol_reads_by_name_alone():
    """It drops its pattern, and keeps the rack although it does not send it any more."""
    it = Migration()
    it.join("D")
    it.join("A", subscribed_topic_names=None, subscribed_topic_regex="t", instance="i", rack_id="r")
    it.advance(0)
    it.settle("A", "D")
    epoch = it.group.epoch

    it.join_classic("x", group_instance_id="i")

    metadata = it.member(it.ids["x"]).metadata
    assert ("", ("t",), "r") == (
        metadata.subscribed_topic_regex,
        metadata.subscribed_topic_names,
        metadata.rack_id,
    )
    assert {} == dict(it.group.patterns)
    assert epoch + 1 == it.group.epoch


def test_the_ids_of_newcomers_have_no_prefix():
    """In a classic group they begin with the client id."""
    it = consumers()

    assert it.join_classic("x").answer.member_id.startswith("id-")


def test_a_retried_rejoin_timeout_is_not_extended():
    """Its records could not be written; a heartbeat in the half second until the retry changes nothing."""
    it = convert()
    it.beat_classic("x", 1)
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    timer = f"rejoin-timeout-{GROUP}-{it.ids['x']}"
    due_us = it.timers[timer]
    it.keep_alive("x", 1, until_ms=due_us // 1000)
    assert due_us + 500_000 == it.timers[timer]

    it.beat_classic("x", 1)
    assert due_us + 500_000 == it.timers[timer]


def test_a_rejoining_member_needs_a_protocol_that_it_had_before():
    """As all other classic members have to have it."""
    it = convert()

    changed = it.join_classic("x", names=("range",)).error

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == changed
    both = it.join_classic("x", names=("range", "cooperative-sticky"))
    assert ErrorCode.NONE == both.error
    assert ErrorCode.NONE == it.join_classic("x", names=("range",)).error


def test_an_error_answer_names_no_member():
    """It has only the error."""
    it = convert()

    refused = it.join_classic("x", names=("range",)).answer

    assert ("", -1) == (refused.member_id, refused.generation_id)


def test_a_sync_keeps_the_session():
    """It repeats what the member called the protocol, if it called it anything."""
    it = convert()
    it.join_classic("x")
    it.advance(9_000)

    answer = it.sync("x", 2, protocol_name=None, protocol_type=None, version=4).answer

    assert (None, None, some(0, 1)) == (
        answer.protocol_type,
        answer.protocol_name,
        answer.assignment,
    )
    assert 10_000 == it.session_ms(it.ids["x"])


def test_a_member_that_gives_up_has_its_time_to_join_again_and_no_other():
    """The time to give up is for those who confirm by heartbeat."""
    it = convert()
    it.join_classic("x", 0, 1, 2, 3)

    assert {2, 3} == it.revoking(it.ids["x"])
    assert not [name for name in it.timers if name.startswith("rebalance-timeout-")]


def test_an_old_good_bye_is_answered_by_one_error():
    """Up to version 2 it names one member, and the answer none."""
    it = convert()

    def left(member_id: str) -> tuple[ErrorCode, int]:
        request = LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(member_id),), version=2)
        answer = it.send(request).answer
        return answer.error, len(answer.members)

    assert (ErrorCode.UNKNOWN_MEMBER_ID, 0) == left("nobody")
    assert (ErrorCode.NONE, 0) == left(it.ids["x"])


def test_a_sync_leaves_deleted_topics_out():
    """Partitions are sent by name; those of a deleted topic have none."""
    it = convert()
    it.join_classic("x")
    it.topics_are(topic("u"))

    assert (ErrorCode.NONE, ()) == (
        it.sync("x", 2).answer.error,
        it.sync("x", 2).answer.assignment,
    )
