"""A classic group with members becomes a consumer group, or does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocols.facts import GroupConverted
from protocols.groups.classic.states import State
from protocols.groups.kip848.group import Group as ConsumerGroup
from protocols.java_maps import TimelineMap
from protocols.messages import LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataValue, encode_assignment

from .driver import AGAIN, GROUP, Migration, consumers, some


def test_a_heartbeat_makes_a_consumer_group_of_a_stable_one():
    """Its members go on as they were, at their generation; then the newcomer joins as any."""
    it = Migration()
    it.stable("x")
    generation = it.classic.generation

    answer = it.join("C")

    assert (generation + 1, {}) == (answer.epoch, answer.assignment)
    assert ["2x", "5", "3", "7", "6", "8", "5", "3", "7", "7", "6", "8"] == it.types
    assert (generation, generation, "STABLE") == it.at(it.ids["x"])
    assert {0, 1, 2, 3} == it.assigned(it.ids["x"])
    assert it.member(it.ids["x"]).uses_classic
    assert (10_000, 45_000) == (it.session_ms(it.ids["x"]), it.session_ms("C"))


@pytest.mark.parametrize(("named", "kept"), [("r", "r"), ("", None), (None, None)])
def test_a_converted_member_keeps_the_rack_of_its_subscription(named, kept):
    """An empty name is none, as ``ConsumerGroup.fromClassicGroup`` has it."""
    it = Migration()
    it.stable("x", rack_id=named)
    it.join("C")

    assert kept == it.member(it.ids["x"]).metadata.rack_id


class Captured(Migration):
    """A coordinator that hands out these member ids."""

    def __init__(self, member_ids):
        self._left = iter(member_ids)
        super().__init__()

    def _new_id(self, prefix):
        return next(self._left)


def captured_order(arrived, real):
    """Check the members' records in a captured order, and the table that replays them."""
    it = Captured(arrived)
    it.stable("x", "y", given={"x": range(4), "y": ()})
    it.join("C")

    written = [key.member_id for key, _ in it.batches[-1] if key.record_type == 5]
    assert [*real, "C"] == written
    filled = TimelineMap().put_all((member_id, None) for member_id in written)
    assert list(filled) == [member.member_id for member in it.group]
    return it


def test_members_are_written_in_the_order_of_the_new_groups_table():
    """Seen in a captured migration: the classic group's HashMap has the second one first."""
    one = "m2-076bd8af-ab6b-40ca-b497-67fbf148edb6"
    other = "m3-bf7de0c9-c8a8-47a1-bc84-dfa974272d7d"
    it = captured_order((other, one), (one, other))

    for record_type in (7, 8):
        keys = [key.member_id for key, _ in it.batches[-1] if key.record_type == record_type]
        assert [one, other] == keys[:2]


def test_members_in_one_slot_are_in_another_order_once_their_records_are_replayed():
    """Captured, too: the newest comes first in a slot, so the table that replays has them reversed.

    The newcomer's target is computed with the table that is discarded.
    """
    one = "m2-5c77087d-9164-42b1-91f7-1c5cbdfb9a30"
    other = "m3-e09ee94c-d56c-4348-bde3-967b63f93d01"
    it = captured_order((one, other), (other, one))

    targets = [key.member_id for key, _ in it.batches[-1] if key.record_type == 7]
    assert [other, one] == targets[:2]
    assert [other, one] == [target for target in targets[2:] if target != "C"]


def test_an_event_has_the_change_with_all_assignments():
    """The epoch continues from the generation."""
    it = Migration()
    it.stable("x")
    it.facts.clear()
    it.join("C")
    (converted,) = it.emitted(GroupConverted)

    assert ("consumer", 1, "C", "C") == (
        converted.protocol,
        converted.generation,
        converted.member_id,
        converted.client,
    )
    assert ((it.ids["x"], some(0, 1, 2, 3)),) == converted.assignment


def test_an_empty_group_takes_its_next_members_protocol_under_any_policy():
    """There and back; the count restarts, with an event. Offsets stay."""
    it = Migration(group_consumer_migration_policy="disabled")
    it.stable("x")
    assert ErrorCode.NONE == it.commit(it.ids["x"], 1, 0)
    it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(it.ids.pop("x")),)))
    it.join("C")
    assert not it.is_classic
    it.leave("C")
    it.enter("y")

    assert it.is_classic
    conversions = [(fact.protocol, fact.assignment) for fact in it.emitted(GroupConverted)]
    assert [("consumer", ()), ("classic", ())] == conversions
    assert it.coordinator.state.durable.offset(GROUP, "t", 0) is not None


def test_a_parked_join_is_answered_with_rejoin():
    """The join phase ends there; the member is known."""
    it = Migration()
    it.stable("x")
    waiting = it.enter("y")
    assert (State.PREPARING_REBALANCE, []) == (it.classic.state, waiting.answers)

    it.join("C")

    assert AGAIN == waiting.error
    assert isinstance(it.group, ConsumerGroup)
    assert 3 == len(it.group.members)


def test_a_parked_sync_is_answered_with_rejoin():
    """Also a leader whose assignment was never stored."""
    it = Migration()
    it.enter("x")
    it.enter("y")
    it.advance(0)
    assert State.COMPLETING_REBALANCE is it.classic.state
    follower = next(name for name in "xy" if it.ids[name] != it.classic.leader_id)
    waiting = it.sync(follower, it.classic.generation)

    it.join("C")

    assert AGAIN == waiting.error
    assert 3 == len(it.group.members)


@pytest.mark.parametrize(
    "settings",
    [
        {"group_consumer_migration_policy": "disabled"},
        {"group_consumer_migration_policy": "downgrade"},
        {"group_consumer_max_size": 1},
    ],
)
def test_policy_and_size_may_forbid_the_upgrade(settings):
    """The newcomer finds no group of its protocol; the classic one is as it was."""
    it = Migration(**settings)
    it.stable("x", "y")
    before = len(it.log)

    assert ErrorCode.GROUP_ID_NOT_FOUND == it.join("C").error
    assert (True, State.STABLE, before) == (it.is_classic, it.classic.state, len(it.log))


def test_a_group_of_another_protocol_type_stays_what_it_is():
    """Connect workers are no consumers."""
    it = Migration()
    it.enter("x", protocol_type="connect")

    assert ErrorCode.GROUP_ID_NOT_FOUND == it.join("C").error


def test_an_upgrade_that_cannot_be_written_is_taken_back():
    """The classic group is restored with its timers; no request is answered twice.

    Its parked members no longer count as joined, so the phase waits for both.
    """
    it = Migration()
    it.stable("x")
    waiting = it.enter("y")
    timers = {name: due for name, due in it.timers.items() if name.startswith(("join-", "heart"))}
    it.advance(1_000)
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == it.join("C").error

    assert (True, AGAIN) == (it.is_classic, waiting.error)
    assert timers.items() <= it.timers.items()
    first = it.join_classic("x", 0, 1, 2, 3)
    assert not first.answers
    second = it.join_classic("y")
    assert {ErrorCode.NONE} == {first.error, second.error}


def test_the_timer_of_a_join_phase_outlives_the_upgrade_that_ended_it():
    """A later classic group that is still empty then begins one generation higher, as in Kafka."""
    it = Migration()
    it.stable("x")
    it.join_classic("y")
    it.join_classic("y")
    it.advance(1_000)
    it.join("C")
    everyone = (*(LeavingMember(it.ids.pop(name)) for name in "xy"), LeavingMember("C"))
    it.send(LeaveGroupRequest(group_id=GROUP, members=everyone))
    it.join_classic("z")
    assert (State.EMPTY, 0) == (it.classic.state, it.classic.generation)

    it.advance(19_000)

    assert (State.EMPTY, 1) == (it.classic.state, it.classic.generation)


def test_in_its_first_join_phase_a_group_cannot_be_read():
    """It has no protocol yet; parked members are sent to join again."""
    it = Migration()
    waiting = it.enter("x")
    assert State.PREPARING_REBALANCE is it.classic.state
    before = len(it.log)

    refused = it.join("C").answer
    assert (ErrorCode.UNKNOWN_SERVER_ERROR, None) == (refused.error, refused.error_message)

    assert (True, before, AGAIN) == (it.is_classic, len(it.log), waiting.error)
    again = it.join_classic("x")
    it.advance(20_000)
    assert ErrorCode.NONE == again.error


def test_a_join_refused_after_the_conversion_leaves_the_group_classic():
    """The group is full; parked members join again."""
    it = Migration(group_consumer_max_size=2)
    it.stable("x")
    waiting = it.enter("y")
    before = len(it.log)

    assert ErrorCode.GROUP_MAX_SIZE_REACHED == it.join("C").error
    assert (True, before, AGAIN) == (it.is_classic, len(it.log), waiting.error)


@pytest.mark.parametrize(
    "changed",
    [
        {"assignment": encode_assignment(some(0), user_data=b"mine")},
        {"assignment": b"\x00"},
        {"subscription": b"\x00"},
    ],
)
def test_metadata_that_cannot_be_kept_forbid_the_upgrade(changed):
    """User data of a custom assignor, and bytes that are not the protocol's."""
    it = Migration()
    it.stable("x")
    place = max(
        place for place, record in enumerate(it.log) if isinstance(record.value, GroupMetadataValue)
    )
    record = it.log[place]
    members = tuple(replace(member, **changed) for member in record.value.members)
    it.log[place] = record._replace(value=replace(record.value, members=members))
    it.fail_over()
    before = len(it.log)

    assert ErrorCode.GROUP_ID_NOT_FOUND == it.join("C").error
    assert (True, before) == (it.is_classic, len(it.log))


def test_a_static_classic_member_changes_its_protocol_and_converts_its_group():
    """The heartbeat with its instance id replaces it in the new consumer group, without a rebalance."""
    it = Migration()
    it.enter_static("x", "i")

    answer = it.join("A", instance="i")

    assert not it.is_classic
    assert (ErrorCode.NONE, {"i": "A"}) == (answer.error, dict(it.group.static_members))
    assert ["A"] == list(it.group.members)
    assert {"t": {0, 1, 2, 3}} == answer.assignment


def test_a_static_classic_member_of_a_consumer_group_changes_its_protocol():
    """Its partitions and the group epoch stay."""
    it = consumers()
    it.join_classic("x", group_instance_id="i")
    epoch = it.group.epoch

    answer = it.join("A", instance="i")

    assert (ErrorCode.NONE, epoch) == (answer.error, it.group.epoch)
    assert {"i": "A"} == dict(it.group.static_members)
    assert 0 == it.group.classic_members
