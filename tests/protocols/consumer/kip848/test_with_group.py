"""Clients and their coordinator together: joining, sharing, leaving, dying, coming back."""

from __future__ import annotations

from protocols.consumer.kip848.member import MemberState

from .together import Together

ALL = [0, 1, 2, 3, 4, 5]


def shared() -> Together:
    """Two members that share six partitions between them."""
    it = Together()
    it.start("A")
    it.run(2_000)
    it.start("B")
    it.run(12_000)
    return it


def test_the_first_member_gets_everything_at_once():
    """There is no initial delay: one round trip, a few passes of poll, and it reads."""
    it = Together()
    it.start("A")
    it.run(600)

    assert {"A": ALL} == it.owned()
    assert "Stable" == it.group.state
    assert dict.fromkeys(ALL, 0) == it.members["A"].positions()


def test_a_second_member_gets_its_share_after_the_first_gave_it_up():
    """Revoke, acknowledge, pick up: half of the partitions move, each at its own heartbeat."""
    it = shared()

    assert {"A": [0, 1, 2], "B": [3, 4, 5]} == it.owned()
    assert [("assigned", tuple(ALL)), ("revoked", (3, 4, 5)), ("assigned", ())] == it.members[
        "A"
    ].calls
    assert [("assigned", ()), ("assigned", (3, 4, 5))] == it.members["B"].calls
    assert [3, 3] == [member.epoch for member in it.members.values()]
    assert "Stable" == it.group.state


def test_the_hand_over_takes_about_one_heartbeat():
    """The donor learns at its next heartbeat, the newcomer picks up at its own."""
    it = Together()
    it.start("A")
    it.run(2_000)
    it.start("B")
    it.run(4_500)
    assert [] == it.members["B"].owned()
    it.run(1_500)

    assert [3, 4, 5] == it.members["B"].owned()


def test_a_moved_partition_goes_on_where_its_last_owner_committed():
    """What was handed out before the revocation is committed before it: nothing is read twice."""
    it = Together()
    first = it.start("A")
    it.run(1_000)
    first.reads({4: 7, 0: 2})
    it.run(1_000)
    second = it.start("B")
    it.run(12_000)

    assert 7 == second.positions()[4]
    assert 2 == first.positions()[0]


def test_a_closed_members_share_goes_to_the_others_at_their_next_heartbeat():
    """It leaves explicitly: its session need not expire."""
    it = shared()
    leaver = it.members["B"]
    leaver.polls = False
    leaver.close()
    it.run(6_000)

    assert {"A": ALL, "B": []} == it.owned()
    assert MemberState.UNSUBSCRIBED is leaver.member
    assert 4 == it.members["A"].epoch


def test_a_dead_members_share_waits_for_its_session():
    """The coordinator removes it 45 s after its last heartbeat; then the others get its share."""
    it = shared()
    it.crash("B")
    it.run(39_000)
    assert {"A": [0, 1, 2]} == it.owned()
    it.run(12_000)

    assert {"A": ALL} == it.owned()


def test_a_member_that_does_not_poll_leaves_and_comes_back():
    """Its share moves on when it leaves by itself; polling again it gets one back."""
    it = Together()
    it.start("A")
    it.run(2_000)
    slow = it.start("B", max_poll_interval_ms=20_000)
    it.run(12_000)
    slow.polls = False
    it.run(30_000)
    assert MemberState.STALE is slow.member
    assert ALL == it.members["A"].owned()
    slow.polls = True
    it.run(16_000)

    assert ("lost", (3, 4, 5)) in slow.calls
    assert sorted(ALL) == sorted(it.members["A"].owned() + slow.owned())
    assert 3 == len(slow.owned())


def test_a_static_member_that_comes_back_in_time_gets_its_own():
    """It leaves with -2 and nothing moves; its next incarnation reads the same at once."""
    it = Together()
    it.start("A", group_instance_id="a")
    it.run(2_000)
    it.start("B", group_instance_id="b")
    it.run(12_000)
    it.members["B"].polls = False
    it.members["B"].close()
    it.run(10_000)
    assert [0, 1, 2] == it.members["A"].owned()
    del it.members["B"]
    it.start("B2", group_instance_id="b")
    it.run(500)

    assert {"A": [0, 1, 2], "B2": [3, 4, 5]} == it.owned()
    assert 3 == it.group.epochs[0]


def test_a_member_removed_behind_its_back_joins_again():
    """Its next heartbeat is refused; it loses all and comes back with the same id."""
    it = shared()
    it.group.leave("B")
    it.run(20_000)

    assert ("lost", (3, 4, 5)) in it.members["B"].calls
    assert ALL == sorted(number for numbers in it.owned().values() for number in numbers)


def test_a_failed_over_coordinator_moves_nothing():
    """The epochs are in its log: the members go on at the same ones."""
    it = shared()
    calls = [list(member.calls) for member in it.members.values()]
    it.group.fail_over()
    it.run(20_000)

    assert {"A": [0, 1, 2], "B": [3, 4, 5]} == it.owned()
    assert calls == [member.calls for member in it.members.values()]
