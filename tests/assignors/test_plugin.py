"""An assignor of the user is run and its assignment checked."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.claims import encode_sticky
from assignors.errors import (
    AssignmentError,
    AssignorDefectError,
    CooperativeViolationError,
    Defect,
    PluginError,
)
from assignors.plugin import (
    GivenTwice,
    check_assignment,
    check_cooperative,
    is_built_in,
    run_assignor,
)
from assignors.registry import BUILT_IN
from assignors.sticky import StickyAssignor
from assignors.types import (
    Assignment,
    FunctionAssignor,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPICS = Topics(partition_counts={"t": 2})
BOTH = {"billing-1": Subscription(topics=("t",)), "billing-2": Subscription(topics=("t",))}


def answering(answer: Any, *, exclusive: bool = True) -> FunctionAssignor:
    """Return an assignor that always gives the same answer."""
    return FunctionAssignor("own", lambda topics, subscriptions: answer, exclusive=exclusive)


def test_a_good_answer_is_taken_and_completed() -> None:
    """Lists of plain pairs will do, and who is left out gets nothing."""
    checked = run_assignor(answering({"billing-2": [("t", 0), ["t", 1]]}), TOPICS, BOTH)

    assert checked.assignment == {"billing-1": (), "billing-2": (T0, T1)}
    assert checked.given_twice == ()


def test_an_exception_is_the_users_not_kafkas() -> None:
    """It is the cause of an error that names the assignor."""

    def fails(topics: object, subscriptions: object) -> Any:
        raise KeyError("weight")

    with pytest.raises(PluginError, match="'own' failed to assign: KeyError") as caught:
        run_assignor(FunctionAssignor("own", fails), TOPICS, BOTH)

    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("t", 2), "assigns t-2 to member 'billing-1'.*topic 't' has 0 to 1"),
        (("one", 1), "assigns one-1 to member 'billing-1'.*topic 'one' has only 0"),
        (("tt", 0), "no topic 'tt' \\(it reads: one, t\\). Did you mean 't'"),
        (("gone", 0), "no topic 'gone' \\(it reads: one, t\\)"),
    ],
)
def test_a_partition_that_does_not_exist_is_refused(given: Any, words: str) -> None:
    """Kafka sends it without an error; here the partition and the member that got it are named."""
    topics = Topics(partition_counts={"t": 2, "one": 1, "gone": 0})

    with pytest.raises(AssignmentError, match=f"^The assignor 'own' is wrong: .*{words}"):
        run_assignor(answering({"billing-1": [given]}), topics, BOTH)


def test_a_plugin_with_the_name_of_a_built_in_assignor_is_checked() -> None:
    """Kafka's own assignors are known by their identity, not by their names."""
    range_ = FunctionAssignor("range", lambda topics, subscriptions: {"billing-1": [("t", 9)]})

    class Sticky(StickyAssignor):
        def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
            return {"billing-1": (TopicPartition("t", 9),)}

    for own in (range_, Sticky()):
        with pytest.raises(AssignmentError, match=f"The assignor '{own.name}' is wrong"):
            run_assignor(own, TOPICS, BOTH)
    assert all(is_built_in(make()) for make in BUILT_IN.values())


def test_the_assignment_of_a_built_in_assignor_is_sent_unchanged() -> None:
    """Kafka sends a partition that does not exist; so does an emulated leader."""
    claim = encode_sticky([TopicPartition("t", 9)], 1)
    both = {
        "billing-1": Subscription(topics=("t",), user_data=claim),
        "billing-2": Subscription(topics=("t",)),
    }

    given = run_assignor(StickyAssignor(), Topics(partition_counts={"t": 3}), both).assignment
    assert TopicPartition("t", 9) in given["billing-1"]


def test_a_defect_of_kafkas_passes_through() -> None:
    """One's own assignor may delegate to a built-in one."""

    def delegates(topics: object, subscriptions: object) -> Any:
        raise AssignorDefectError(Defect.ENDLESS_REASSIGNMENT, "as ever")

    with pytest.raises(AssignorDefectError):
        run_assignor(FunctionAssignor("own", delegates), TOPICS, BOTH)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"billing-3": [T0]}, "'billing-3', which is not a member of the group. Did you mean"),
        (None, "maps members to partitions; this one is a NoneType"),
        ([("billing-1", [T0])], "is a list"),
        ({"billing-1": 3}, "must be .topic, number. pairs"),
        ({"billing-1": "t0"}, "must be .topic, number. pairs"),
        ({"billing-1": [("t",)]}, "must be .topic, number. pairs"),
        ({"billing-1": [("t", "0")]}, "must be .topic, number. pairs"),
        ({"billing-1": [("t", -1)]}, "must be .topic, number. pairs"),
        ({"billing-1": [("t", True)]}, "must be .topic, number. pairs"),
        ({7: [T0]}, "contains 7, which is not a member"),
    ],
)
def test_an_answer_that_cannot_be_sent_is_an_error(answer: object, message: str) -> None:
    """It says who or what is wrong."""
    with pytest.raises(AssignmentError, match=message):
        check_assignment(answer, BOTH)


def test_a_partition_given_twice_is_reported_not_refused() -> None:
    """Kafka does not object either; one member can have it twice."""
    checked = check_assignment({"billing-1": [T0, T1, T1], "billing-2": [T0]}, BOTH)

    assert checked.given_twice == (
        GivenTwice(T0, ("billing-1", "billing-2")),
        GivenTwice(T1, ("billing-1", "billing-1")),
    )


def test_a_plugin_that_declares_it_may_assign_a_partition_twice() -> None:
    """``exclusive = False`` declares it."""
    answer = {"billing-1": [T0], "billing-2": [T0]}

    assert run_assignor(answering(answer, exclusive=False), TOPICS, BOTH).given_twice == ()
    assert len(run_assignor(answering(answer), TOPICS, BOTH).given_twice) == 1


def test_a_cooperative_assignor_must_not_move_in_one_step() -> None:
    """Added to one while another still has it: the leader refuses the answer."""
    members = {
        "billing-1": Subscription(topics=("t",), owned_partitions=(T0, T1)),
        "billing-2": Subscription(topics=("t",)),
    }

    check_cooperative(members, {"billing-1": (T0,), "billing-2": ()})
    check_cooperative(members, {"billing-1": (T0, T1), "billing-2": (T1,)})

    with pytest.raises(CooperativeViolationError, match="t-1 would be assigned to a new member"):
        check_cooperative(members, {"billing-1": (T0,), "billing-2": (T1,)})


def test_many_violations_are_cut_short() -> None:
    """The first few show what is wrong."""
    had = tuple(TopicPartition("t", number) for number in range(9))
    members = {
        "billing-1": Subscription(topics=("t",), owned_partitions=had),
        "billing-2": Subscription(topics=("t",)),
    }

    with pytest.raises(CooperativeViolationError, match="t-4 and 4 more would"):
        check_cooperative(members, {"billing-1": (), "billing-2": had})


def test_a_defect_can_be_rebuilt_from_its_arguments() -> None:
    """Simulation processes raise it again elsewhere."""
    defect = AssignorDefectError(Defect.SIZE_OF_FIXED_MEMBER, "member A")

    assert str(defect) == str(type(defect)(*defect.args))


@pytest.mark.parametrize("defect", list(Defect))
def test_every_defect_says_what_kafka_does(defect: Defect) -> None:
    """One sentence for people, and the exception if there is one."""
    assert "Kafka's" in defect.description
    assert defect.java_exception is None or "." in defect.java_exception
