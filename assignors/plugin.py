"""Run an assignor and check its assignment.

Kafka itself checks little: neither that all partitions are assigned, nor that each is assigned
once. Here an assignment that cannot be sent is an error; a partition assigned twice is reported.
The assignments of Kafka's own assignors are sent unchanged: if they are wrong, so is Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from itertools import chain
from typing import Final

from assignors.errors import (
    AssignmentError,
    AssignorDefectError,
    AssignorError,
    CooperativeViolationError,
    PluginError,
    did_you_mean,
)
from assignors.range import assign_range
from assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from assignors.types import (
    Assigned,
    Assignment,
    Assignor,
    FunctionAssignor,
    Subscriptions,
    TopicPartition,
    Topics,
    partition_of_pair,
)
from assignors.values import dataclass


def _assign_roundrobin(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Call the roundrobin assignor, which few groups use."""
    from assignors.roundrobin import assign_roundrobin  # noqa: PLC0415  most groups use others

    return assign_roundrobin(topics, subscriptions)


RANGE: Final = FunctionAssignor("range", assign_range)
ROUNDROBIN: Final = FunctionAssignor("roundrobin", _assign_roundrobin)
_BUILT_IN_CLASSES = (StickyAssignor, CooperativeStickyAssignor)


@dataclass(frozen=True, slots=True)
class GivenTwice:
    """A partition that is assigned more than once."""

    partition: TopicPartition
    members: tuple[str, ...]
    """Its members, in the order of the assignment; a member twice if its list repeats it."""


@dataclass(frozen=True, slots=True)
class CheckedAssignment:
    """An assignment that can be sent, and the partitions that it assigns twice."""

    assignment: Assignment
    """Every member of the group has an entry."""

    given_twice: tuple[GivenTwice, ...]
    """By partition; empty for an assignor that declares ``exclusive = False``."""

    user_data: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes for the assignors of members; those without any have no entry."""


def run_assignor(
    assignor: Assignor, topics: Topics, subscriptions: Subscriptions
) -> CheckedAssignment:
    """Return the checked assignment of *assignor*.

    Raises :class:`AssignorDefectError` where Kafka's own class fails, :class:`PluginError` if the
    user's code raises, :class:`AssignmentError` if its result is no assignment of this group.
    """
    with user_code(assignor.name, "assign"):
        answer = assignor.assign(topics, subscriptions)
    try:
        checked = check_assignment(answer, subscriptions, exclusive=is_exclusive(assignor))
        if not is_built_in(assignor):
            check_partitions(checked.assignment, topics)
    except AssignmentError as error:
        raise AssignmentError(f"The assignor {assignor.name!r} is wrong: {error}") from None
    return checked


def is_built_in(assignor: Assignor) -> bool:
    """Return whether *assignor* is one of Kafka's own; an object of the user with its name is not.

    >>> is_built_in(StickyAssignor())
    True
    """
    if isinstance(assignor, FunctionAssignor):
        return assignor in (RANGE, ROUNDROBIN)
    return type(assignor) in _BUILT_IN_CLASSES


def is_exclusive(assignor: Assignor) -> bool:
    """Return whether *assignor* assigns each partition to one member only."""
    return bool(getattr(assignor, "exclusive", True))


@contextmanager
def user_code(name: str, doing: str, kind: str = "assignor") -> Iterator[None]:
    """Run a plug-in's code and raise its exceptions as :class:`PluginError`.

    ``sys.exit()`` is treated as an exception, too; Ctrl-C ends the process. A defect of Kafka's
    assignors passes through: a plug-in may delegate to a built-in assignor.
    """
    try:
        yield
    except (AssignorDefectError, AssignorError, KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as error:
        reason = f"it called sys.exit({error.code})"
        raise PluginError(f"The {kind} {name!r} failed to {doing}: {reason}") from error
    except BaseException as error:
        raise PluginError(
            f"The {kind} {name!r} failed to {doing}: {type(error).__name__}: {error}"
        ) from error


def check_assignment(
    answer: object, subscriptions: Subscriptions, *, exclusive: bool = True
) -> CheckedAssignment:
    """Return *answer* as a checked assignment; members that it omits get no partitions.

    Raises :class:`AssignmentError` if it names a member that is not in the group, or is no mapping
    of members to (topic, number) pairs.

    >>> from assignors.types import Subscription
    >>> both = {"A": Subscription(topics=("t",)), "B": Subscription(topics=("t",))}
    >>> check_assignment({"A": [("t", 0)], "B": [("t", 0)]}, both).given_twice[0].members
    ('A', 'B')
    """
    if not isinstance(answer, Mapping):
        raise AssignmentError(
            f"An assignment maps members to partitions; this one is a {type(answer).__name__}."
        )
    for member in answer:
        if member not in subscriptions:
            raise AssignmentError(_no_member(member, subscriptions))
    data = {
        member: _user_data(member, given.user_data)
        for member, given in answer.items()
        if isinstance(given, Assigned) and given.user_data is not None
    }
    assignment = {
        member: _partitions(member, _without_data(answer.get(member, ())))
        for member in subscriptions
    }
    return CheckedAssignment(assignment, _given_twice(assignment) if exclusive else (), data)


def call_on_assignment(
    assignor: Assignor,
    partitions: tuple[TopicPartition, ...],
    generation: int,
    user_data: bytes | None,
) -> None:
    """Call ``on_assignment``; with the user data only if the leader's assignor has sent some.

    Raises :class:`PluginError` if the user's code fails.
    """
    with user_code(assignor.name, "take note of its assignment (on_assignment)"):
        if user_data is None:
            assignor.on_assignment(partitions, generation)
        else:
            assignor.on_assignment(partitions, generation, user_data)  # type: ignore[call-arg]


def _without_data(given: object) -> object:
    return given.partitions if isinstance(given, Assigned) else given


def _user_data(member: str, data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    raise AssignmentError(
        f"The user data for member {member!r} must be bytes or None; got {data!r:.100}."
    )


def check_partitions(assignment: Assignment, topics: Topics) -> None:
    """Check that every assigned partition is in the topic metadata.

    Kafka sends an assignment of other partitions, and the member waits for them without an error.
    Raises :class:`AssignmentError`.

    >>> check_partitions({"A": (TopicPartition("t", 2),)}, Topics(partition_counts={"t": 3}))
    """
    counts = topics.partition_counts
    for member, partitions in assignment.items():
        for given in partitions:
            if given.partition >= counts.get(given.topic, 0):
                raise AssignmentError(_no_partition(member, given, counts))


def check_cooperative(subscriptions: Subscriptions, assignment: Assignment) -> None:
    """Check that no member gets a partition that another member has not revoked yet.

    The leader checks a custom cooperative assignor (``validateCooperativeAssignment``); the
    built-in one withholds such partitions itself. Raises :class:`CooperativeViolationError`.
    """
    added: set[TopicPartition] = set()
    revoked: set[TopicPartition] = set()
    for member, subscription in subscriptions.items():
        given = assignment.get(member, ())
        added.update(set(given).difference(subscription.owned_partitions))
        revoked.update(set(subscription.owned_partitions).difference(given))
    if moved := sorted(added & revoked):
        raise CooperativeViolationError(
            f"A cooperative assignor must not move a partition in one step: {_listed(moved)} "
            "would be assigned to a new member while another one still owns it. Omit such "
            "partitions; the next rebalance assigns them."
        )


def _given_twice(assignment: Assignment) -> tuple[GivenTwice, ...]:
    given = chain.from_iterable(assignment.values())
    if len(set(given)) == sum(map(len, assignment.values())):
        return ()
    owners: dict[TopicPartition, list[str]] = {}
    for member, partitions in assignment.items():
        for partition in partitions:
            owners.setdefault(partition, []).append(member)
    repeated = sorted(partition for partition, members in owners.items() if len(members) > 1)
    return tuple(GivenTwice(partition, tuple(owners[partition])) for partition in repeated)


def _partitions(member: str, given: object) -> tuple[TopicPartition, ...]:
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        pairs = list(given)
        if all(map(_is_pair, pairs)):
            return tuple(map(partition_of_pair, pairs))
    raise AssignmentError(
        f"The partitions of member {member!r} must be (topic, number) pairs, "
        f"like TopicPartition('orders', 0); got {given!r:.100}."
    )


def _is_pair(value: object) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    topic, number = value
    return isinstance(topic, str) and type(number) is int and number >= 0


def _no_member(given: object, members: Iterable[str]) -> str:
    hint = did_you_mean(str(given), members)
    return f"The assignment contains {given!r}, which is not a member of the group.{hint}"


def _no_partition(member: str, given: TopicPartition, counts: Mapping[str, int]) -> str:
    count = counts.get(given.topic, 0)
    text = f"It assigns {given} to member {member!r}, but there is no such partition: "
    if not count:
        known = ", ".join(sorted(topic for topic, number in counts.items() if number)) or "none"
        hint = did_you_mean(given.topic, counts)
        return f"{text}the group reads no topic {given.topic!r} (it reads: {known}).{hint}"
    numbers = "only 0" if count == 1 else f"0 to {count - 1}"
    return (
        f"{text}topic {given.topic!r} has {numbers}. Take the numbers from topics.partition_counts."
    )


def _listed(partitions: list[TopicPartition], limit: int = 5) -> str:
    more = f" and {len(partitions) - limit} more" if len(partitions) > limit else ""
    return ", ".join(map(str, partitions[:limit])) + more
