"""The sticky assignor: the classic examples, what it remembers, and Kafka's defects."""

from __future__ import annotations

import pytest

from assignors.claims import encode_sticky
from assignors.errors import AssignorDefectError, Defect
from assignors.sticky import StickyAssignor, assign_sticky
from assignors.types import Subscription, TopicPartition, Topics

UNEQUAL = {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}
FOUR = "t0 t1 t2 t3"


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """Read ``t0-1 t1-2,3`` as partitions."""
    return tuple(
        TopicPartition(topic, int(number))
        for word in text.split()
        for topic, numbers in [word.rsplit("-", 1)]
        for number in numbers.split(",")
    )


def member(topics: str, had: str = "", generation: int = -1) -> Subscription:
    """Return the subscription of a member that had partitions in a generation."""
    data = encode_sticky(partitions(had), generation) if had else None
    return Subscription(topics=tuple(topics.split()), user_data=data, generation_id=generation)


def keeping(topics: dict[str, str], before) -> dict[str, Subscription]:
    """Return the subscriptions of members that had *before* in generation 1."""
    return {
        one: Subscription(
            topics=tuple(names.split()),
            user_data=encode_sticky(before[one], 1),
            generation_id=1,
        )
        for one, names in topics.items()
    }


def test_unequal_subscriptions_are_balanced(group, counts, words) -> None:
    """Round robin gives four of six to one member; sticky gives each member two."""
    given = words(assign_sticky(counts(t0=1, t1=2, t2=3), group(UNEQUAL)))

    assert given == {"C0": "t0p0", "C1": "t1p0 t1p1", "C2": "t2p0 t2p1 t2p2"}


def test_after_the_first_of_unequal_members_has_left(group, counts, words) -> None:
    """Only the leaver's partition moves."""
    topics = counts(t0=1, t1=2, t2=3)
    before = assign_sticky(topics, group(UNEQUAL))
    left = {one: UNEQUAL[one] for one in ("C1", "C2")}

    given = words(assign_sticky(topics, keeping(left, before)))

    assert given == {"C1": "t1p0 t1p1 t0p0", "C2": "t2p0 t2p1 t2p2"}


def test_one_of_three_leaves_and_only_its_partitions_move(group, counts, words) -> None:
    """Where round robin moves two more, the others keep all they had."""
    topics = counts(t0=2, t1=2, t2=2, t3=2)
    before = assign_sticky(topics, group(dict.fromkeys(("C0", "C1", "C2"), FOUR)))

    after = words(assign_sticky(topics, keeping(dict.fromkeys(("C0", "C2"), FOUR), before)))

    assert words(before) == {"C0": "t0p0 t1p1 t3p0", "C1": "t0p1 t2p0 t3p1", "C2": "t1p0 t2p1"}
    assert after == {"C0": "t0p0 t3p0 t1p1 t0p1", "C2": "t1p0 t2p1 t2p0 t3p1"}


def test_user_data_has_the_current_assignment() -> None:
    """Nothing before the first assignment; then the partitions and their generation."""
    assignor = StickyAssignor()
    had = partitions("t-0,1")

    assert assignor.subscription_user_data(frozenset("t")) is None

    assignor.on_assignment(had, 5)

    assert encode_sticky(had, 5) == assignor.subscription_user_data(frozenset("t"))


def test_user_data_may_have_an_empty_assignment() -> None:
    """A member without partitions is not a new member."""
    assignor = StickyAssignor()
    assignor.on_assignment((), 5)

    assert encode_sticky((), 5) == assignor.subscription_user_data(frozenset("t"))


def test_the_highest_generation_outlives_the_assignment(counts) -> None:
    """A leader that once saw generation 9 takes a claim from generation 3 for outdated."""
    assignor = StickyAssignor()

    assignor.assign(counts(t=1), {"A": member("t", "t-0", 9)})
    assignor.assign(counts(t=1), {"A": member("t", "t-0", 3)})

    assert assignor.max_generation == 9


def test_generation_0_is_a_generation(counts) -> None:
    """It is higher than none; some clients take it for false."""
    assignor = StickyAssignor()

    assignor.assign(counts(t=1), {"A": member("t", "t-0", 0)})

    assert assignor.max_generation == 0


@pytest.mark.parametrize("generation", [0, 4])
def test_a_partition_claimed_twice_in_one_generation_is_reassigned(
    counts, words, generation: int
) -> None:
    """Each member keeps what only it claims."""
    both = {"A": member("t", "t-0,1", generation), "B": member("t", "t-1", generation)}

    given = words(assign_sticky(counts(t=2), both))

    assert given == {"A": "tp0", "B": "tp1"}


def test_the_claim_of_the_higher_generation_wins(counts, words) -> None:
    """The other one was thrown out meanwhile and does not know."""
    both = {"A": member("t", "t-0,1", 3), "B": member("t", "t-0,1", 4)}

    given = words(assign_sticky(counts(t=4), both))

    assert given == {"A": "tp2 tp3", "B": "tp0 tp1"}


def test_members_without_topics_are_dealt_to_if_they_come_first(group, counts, words) -> None:
    """Kafka's defect: the first topics it meets set the measure, so A counts as a reader."""
    assert words(assign_sticky(counts(t0=4), group({"A": "", "B": "t0"}))) == {
        "A": "t0p0 t0p2",
        "B": "t0p1 t0p3",
    }
    assert words(assign_sticky(counts(t0=4), group({"A": "t0", "B": ""}))) == {
        "A": "t0p0 t0p1 t0p2 t0p3",
        "B": "",
    }


def test_moves_that_undo_each_other_end_in_a_named_defect(counts) -> None:
    """Two members join while two partitions are free; Kafka's leader never answers."""
    members = {
        "C0": member("t1", "t1-0,1,2,3,4,5,6,7,8,9,10,11,12", 1),
        "C1": member("t2", "t2-0,1,2,3,4,6,7,8,9,10,11", 1),
        "C2": member("t0 t2", "t0-0,2,3", 1),
        "C3": member("t0 t2"),
        "C4": member("t0 t1"),
    }

    with pytest.raises(AssignorDefectError, match="never ends") as caught:
        assign_sticky(counts(t0=4, t1=13, t2=12), members)

    assert caught.value.defect is Defect.ENDLESS_REASSIGNMENT
    assert caught.value.defect.java_exception is None


STALE = {
    "A": member("t0", "t1-0", 1),
    "B": member("t1", "t1-0,1,2,3,4,5", 2),
    "C": member("t1"),
}


def test_a_stale_claim_of_a_settled_member_ends_in_a_named_defect(counts) -> None:
    """Kafka looks up the size of a member it has set aside."""
    with pytest.raises(AssignorDefectError, match="member A once had t1-0") as caught:
        assign_sticky(counts(t0=1, t1=6), STALE)

    assert caught.value.defect is Defect.SIZE_OF_FIXED_MEMBER
    assert caught.value.defect.java_exception == "java.lang.NullPointerException"


def test_a_stale_claimer_can_get_a_topic_it_does_not_ask_for(counts) -> None:
    """Kafka's defect: it does not check whether the member still subscribes."""
    given = assign_sticky(counts(t0=1, t1=6), {**STALE, "D": member("t0")})

    assert TopicPartition("t1", 0) in given["A"]


def test_a_claimed_partition_that_does_not_exist_is_kept(counts, words) -> None:
    """The topic was recreated with fewer partitions: Kafka checks only the topic's name."""
    members = {"A": member("t u", "t-0,5", 1), "B": member("t u", "t-1", 1)}

    given = words(assign_sticky(counts(t=2, u=2), members))

    assert given == {"A": "tp0 tp5", "B": "tp1 up0 up1"}


def test_claims_beyond_a_topic_can_end_in_a_named_defect(counts) -> None:
    """Partitions after such a claim are reassigned, and no member has room for them."""
    members = {"A": member("t u", "t-0,5", 1), "B": member("t u", "u-0,1", 1)}

    with pytest.raises(AssignorDefectError, match="no member is left") as caught:
        assign_sticky(counts(t=2, u=2), members)

    assert caught.value.defect is Defect.QUOTA_NOT_MET


def test_unreadable_user_data_claims_nothing(counts, words) -> None:
    """The member is taken for one without partitions, in generation -1."""
    broken = Subscription(topics=("t",), user_data=b"\0\0\0", generation_id=3)

    given = words(assign_sticky(counts(t=2), {"A": broken, "B": member("t", "t-0", 3)}))

    assert given == {"A": "tp1", "B": "tp0"}


def test_the_own_rack_comes_before_what_a_member_had(words) -> None:
    """A partition without a replica near its owner is dealt out again."""
    topics = Topics(partition_counts={"t": 2}, racks={"t": (("r0",), ("r1",))})
    members = {
        "A": Subscription(
            topics=("t",), rack_id="r0", user_data=encode_sticky(partitions("t-1"), 1)
        ),
        "B": Subscription(
            topics=("t",), rack_id="r1", user_data=encode_sticky(partitions("t-0"), 1)
        ),
    }

    given = words(assign_sticky(topics, members))

    assert given == {"A": "tp0", "B": "tp1"}


def test_a_group_without_members_has_no_assignment(counts) -> None:
    """The assignment is empty."""
    assert assign_sticky(counts(t=1), {}) == {}
