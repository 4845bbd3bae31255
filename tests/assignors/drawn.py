"""Groups drawn at random, and how to ask an assignor about them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from assignors.claims import encode_sticky
from assignors.sticky import assign_sticky
from assignors.types import Assignment, Subscription, Subscriptions, TopicPartition, Topics

AssignFunction = Callable[[Topics, Subscriptions], Assignment]

NAMES = ("orders", "payments", "clicks", "metrics.raw", "t-5")
RACKS = ("r0", "r1", "r2")

member_ids = st.lists(
    st.text("abcdef0123456789-", min_size=1, max_size=8), min_size=1, max_size=9, unique=True
)
counts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), min_size=1)


@st.composite
def groups(draw: st.DrawFn, *, uniform: bool) -> tuple[Topics, dict[str, Subscription]]:
    """Draw a new group, in which no member has partitions yet."""
    asked = tuple(sorted(draw(counts)))
    racks = draw(st.booleans())
    members: dict[str, Subscription] = {}
    for member in draw(member_ids):
        topics = asked if uniform else tuple(sorted(draw(st.sets(st.sampled_from(asked)))))
        members[member] = Subscription(
            topics=topics,
            rack_id=draw(st.sampled_from([None, *RACKS])) if racks else None,
            group_instance_id=draw(st.sampled_from([None, None, f"i-{len(member)}-{member}"])),
        )
    sizes = {topic: draw(st.integers(0, 12)) for topic in asked}
    replicas = st.lists(st.sampled_from(RACKS), min_size=1, max_size=2).map(tuple)
    placed: dict[str, tuple[tuple[str, ...], ...]] = {}
    if racks:
        placed = {topic: tuple(draw(replicas) for _ in range(n)) for topic, n in sizes.items()}
    return Topics(partition_counts=sizes, racks=placed), members


any_group = st.one_of(groups(uniform=True), groups(uniform=False))


def wanted(topics: Topics, members: Subscriptions) -> list[TopicPartition]:
    """Return the partitions that at least one member subscribes to, sorted."""
    asked = {topic for subscription in members.values() for topic in subscription.topics}
    return sorted(
        TopicPartition(topic, number)
        for topic in asked
        for number in range(topics.partition_counts.get(topic, 0))
    )


def all_given(assignment: Assignment) -> list[TopicPartition]:
    """Return everything that is given, sorted, what is given twice standing twice."""
    return sorted(one for partitions in assignment.values() for one in partitions)


def as_sets(assignment: Assignment) -> dict[str, frozenset[TopicPartition]]:
    """Return who gets what, whatever the order of the lists."""
    return {member: frozenset(partitions) for member, partitions in assignment.items()}


def keeping(
    assign: AssignFunction, members: Subscriptions, before: Assignment, generation: int = 1
) -> dict[str, Subscription]:
    """Return the subscriptions of members that owned *before*, in the form that *assign* needs."""
    return {
        member: replace(
            subscription,
            user_data=encode_sticky(before[member], generation)
            if assign is assign_sticky and member in before
            else None,
            owned_partitions=() if assign is assign_sticky else before.get(member, ()),
            generation_id=generation if member in before else -1,
        )
        for member, subscription in members.items()
    }


def without_racks(members: Subscriptions) -> dict[str, Subscription]:
    """Return the members as if they had no racks: a rack may be worth a move."""
    return {member: replace(sub, rack_id=None) for member, sub in members.items()}


def shuffled(topics: Topics, members: Subscriptions, chooser) -> tuple[Topics, Subscriptions]:
    """Return the same group with members, topics and each member's topics in another order."""

    def mixed(keys):
        return chooser.sample(list(keys), len(list(keys)))

    return (
        Topics(
            partition_counts={
                topic: topics.partition_counts[topic] for topic in mixed(topics.partition_counts)
            },
            racks=topics.racks,
        ),
        {
            member: replace(members[member], topics=tuple(mixed(members[member].topics)))
            for member in mixed(members)
        },
    )


claims = st.lists(
    st.builds(TopicPartition, st.sampled_from(NAMES), st.integers(0, 13)), max_size=12, unique=True
)


@st.composite
def claiming_groups(draw: st.DrawFn) -> tuple[Topics, dict[str, Subscription]]:
    """Draw a group whose members claim what they please, of any generation."""
    topics, members = draw(any_group)
    return topics, {
        member: replace(
            subscription,
            user_data=encode_sticky(draw(claims), draw(st.integers(-1, 3))),
            generation_id=draw(st.integers(-1, 3)),
        )
        for member, subscription in members.items()
    }
