"""The cooperative sticky assignor: two rounds, and what it withholds in the first."""

from __future__ import annotations

from assignors.claims import encode_cooperative
from assignors.sticky import CooperativeStickyAssignor, assign_cooperative_sticky
from assignors.types import RebalanceProtocol, Subscription, TopicPartition


def owning(topics: str, had: str = "", generation: int = -1) -> Subscription:
    """Return the subscription of a member that still has partitions, as ``t0p1 t1p0``."""
    pairs = (word.rsplit("p", 1) for word in had.split())
    return Subscription(
        topics=tuple(topics.split()),
        owned_partitions=tuple(TopicPartition(topic, int(number)) for topic, number in pairs),
        generation_id=generation,
        user_data=encode_cooperative(generation),
    )


def test_a_new_member_gets_its_share_in_the_second_round(counts, words) -> None:
    """The owner revokes first, then the new member gets it; in between it has no owner."""
    first = words(
        assign_cooperative_sticky(
            counts(t=4), {"A": owning("t", "tp0 tp1 tp2 tp3", 1), "B": owning("t")}
        )
    )
    second = words(
        assign_cooperative_sticky(
            counts(t=4), {"A": owning("t", first["A"], 2), "B": owning("t", first["B"], 2)}
        )
    )

    assert first == {"A": "tp0 tp1", "B": ""}
    assert second == {"A": "tp0 tp1", "B": "tp2 tp3"}


def test_partitions_of_a_member_that_left_are_assigned_at_once(counts, words) -> None:
    """No member has to revoke anything: one round is enough."""
    given = words(
        assign_cooperative_sticky(
            counts(t=4), {"A": owning("t", "tp0 tp1", 3), "B": owning("t", "tp2", 3)}
        )
    )

    assert given == {"A": "tp0 tp1", "B": "tp2 tp3"}


def test_different_subscriptions_are_withheld_too(counts, words) -> None:
    """The general path works out what changes hands from what members own."""
    first = words(
        assign_cooperative_sticky(
            counts(t=4, u=1),
            {"A": owning("t u", "tp0 tp1 tp2 tp3 up0", 1), "B": owning("t")},
        )
    )

    assert first["B"] == ""
    assert len(first["A"].split()) == 3


def test_a_partition_with_an_outdated_claimer_only_is_not_withheld(counts, words) -> None:
    """The one who says it has it was thrown out: its claim lost against a newer one."""
    given = words(
        assign_cooperative_sticky(
            counts(t=2), {"A": owning("t", "tp0 tp1", 1), "B": owning("t", "tp0 tp1", 2)}
        )
    )

    assert given == {"A": "", "B": "tp0"}


def test_it_supports_both_protocols_and_wants_the_newer() -> None:
    """A group of such members alone runs cooperatively."""
    assert CooperativeStickyAssignor().rebalance_protocols == (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )


def test_user_data_has_the_generation() -> None:
    """Four bytes, -1 before the first assignment."""
    assignor = CooperativeStickyAssignor()

    assert assignor.subscription_user_data(frozenset()) == b"\xff\xff\xff\xff"

    assignor.on_assignment((), 6)

    assert assignor.subscription_user_data(frozenset()) == b"\0\0\0\6"


def test_the_generation_of_an_old_client_is_read_from_its_user_data(counts) -> None:
    """Before version 2 of the subscription there is no other place for it."""
    assignor = CooperativeStickyAssignor()
    old = Subscription(topics=("t",), user_data=encode_cooperative(8))

    assignor.assign(counts(t=1), {"A": old})

    assert assignor.max_generation == 8
