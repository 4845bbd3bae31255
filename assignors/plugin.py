"""Running an assignor that somebody else wrote, and looking at its answer.

Kafka itself checks little: it does not care whether partitions are covered, or given once. Here
an answer that cannot be sent is an error that names it; one that is merely odd is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from assignors.errors import (
    AssignmentError,
    AssignorDefectError,
    AssignorError,
    CooperativeViolationError,
    PluginError,
    did_you_mean,
)
from assignors.types import (
    Assignment,
    Assignor,
    Subscriptions,
    TopicPartition,
    Topics,
    partition_of_pair,
)

KAFKAS_OWN = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""Names of assignors whose answers are sent as they are: if they err, Kafka errs."""


@dataclass(frozen=True, slots=True)
class GivenTwice:
    """A partition that an answer gives more than once."""

    partition: TopicPartition
    members: tuple[str, ...]
    """Who gets it, in the order of the answer; one member twice if its list repeats it."""


@dataclass(frozen=True, slots=True)
class CheckedAssignment:
    """An answer that can be sent, and what is odd about it."""

    assignment: Assignment
    """Every member of the group has an entry."""

    given_twice: tuple[GivenTwice, ...]
    """By partition; empty for an assignor that declares ``exclusive = False``."""


def run_assignor(
    assignor: Assignor, topics: Topics, subscriptions: Subscriptions
) -> CheckedAssignment:
    """Let *assignor* assign, and check its answer.

    Raises :class:`AssignorDefectError` where Kafka's own class fails, :class:`PluginError` if the
    user's code raises, :class:`AssignmentError` if its answer is no assignment of this group.
    """
    with user_code(assignor.name, "assign"):
        answer = assignor.assign(topics, subscriptions)
    try:
        checked = check_assignment(answer, subscriptions, exclusive=is_exclusive(assignor))
        if assignor.name not in KAFKAS_OWN:
            check_partitions(checked.assignment, topics)
    except AssignmentError as error:
        raise AssignmentError(f"The assignor {assignor.name!r} is wrong: {error}") from None
    return checked


def is_exclusive(assignor: Assignor) -> bool:
    """Say whether *assignor* means to give each partition to one member only."""
    return bool(getattr(assignor, "exclusive", True))


@contextmanager
def user_code(name: str, doing: str) -> Iterator[None]:
    """Run a plug-in's code: what it raises becomes a :class:`PluginError` that says so.

    So does ``sys.exit()``; Ctrl-C alone ends the process. A defect of Kafka's passes through: a
    plug-in may delegate to a built-in assignor.
    """
    try:
        yield
    except (AssignorDefectError, AssignorError, KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as error:
        reason = f"it ends the process (status {error.code}) instead"
        raise PluginError(f"The assignor {name!r} failed to {doing}: {reason}") from error
    except BaseException as error:
        raise PluginError(
            f"The assignor {name!r} failed to {doing}: {type(error).__name__}: {error}"
        ) from error


def check_assignment(
    answer: object, subscriptions: Subscriptions, *, exclusive: bool = True
) -> CheckedAssignment:
    """Check an assignor's answer; members it leaves out get nothing.

    Raises :class:`AssignmentError` if it names somebody who is no member, or is no mapping of
    members to (topic, number) pairs.

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
    assignment = {member: _partitions(member, answer.get(member, ())) for member in subscriptions}
    return CheckedAssignment(assignment, _given_twice(assignment) if exclusive else ())


def check_partitions(assignment: Assignment, topics: Topics) -> None:
    """Check that every partition given exists, as far as the one who assigns knows.

    Kafka sends one that does not, and its new owner waits for it in silence. Raises
    :class:`AssignmentError`.

    >>> check_partitions({"A": (TopicPartition("t", 2),)}, Topics(partition_counts={"t": 3}))
    """
    counts = topics.partition_counts
    for member, partitions in assignment.items():
        for given in partitions:
            if given.partition >= counts.get(given.topic, 0):
                raise AssignmentError(_no_partition(member, given, counts))


def check_cooperative(subscriptions: Subscriptions, assignment: Assignment) -> None:
    """Check that nobody gets a partition that another member still has to give up.

    The leader checks a custom cooperative assignor so (``validateCooperativeAssignment``); the
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
            "would go to a new member while another one still has it. Leave such partitions "
            "out; the next rebalance hands them out."
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
    return f"The assignment names {given!r}, who is no member of the group.{hint}"


def _no_partition(member: str, given: TopicPartition, counts: Mapping[str, int]) -> str:
    count = counts.get(given.topic, 0)
    text = f"It gives {given} to member {member!r}, and there is no such partition: "
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
