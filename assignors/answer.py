"""Answering questions to assignors, line by line: who gets what, or why nobody does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from assignors.cooperative_sticky import CooperativeStickyAssignor
from assignors.errors import AssignorDefectError, AssignorError, AssignorNotFoundError
from assignors.plugin import (
    CheckedAssignment,
    check_assignment,
    check_cooperative,
    run_assignor,
    user_code,
)
from assignors.question import Member, Question, QuestionError, read_question
from assignors.registry import SERVER_SIDE, load_assignor
from assignors.spelling import did_you_mean
from assignors.sticky import StickyAssignor
from assignors.types import (
    NO_GENERATION,
    Assignor,
    RebalanceProtocol,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)
from assignors.user_data import encode_cooperative, encode_sticky

_SERVER_SIDE = {f"server-{name}": function for name, function in SERVER_SIDE.items()}
"""How a question names the coordinator's assignors, which share their names with others."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Who gets what, beside the group that was asked about."""

    topics: Topics
    subscriptions: Subscriptions
    owned: Mapping[str, tuple[TopicPartition, ...]]
    checked: CheckedAssignment


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    line_number: int
    assignor: str | None
    answer: Answer | None = None
    error: str | None = None
    defect: str | None = None
    """Which of Kafka's defects it met: an outcome, not bad input."""

    @property
    def is_bad_input(self) -> bool:
        """Whether the question, or the user's assignor, is to blame."""
        return self.error is not None and self.defect is None


def outcomes(lines: Iterable[str | bytes]) -> Iterator[Outcome]:
    """Yield what becomes of each question, in order; blank lines are passed over."""
    for line_number, line in enumerate(lines, start=1):
        if line.strip():
            yield _outcome(line_number, line)


def answer(question: Question) -> Answer:
    """Let the assignor of *question* assign.

    Raises what :func:`assignors.registry.load_assignor` and
    :func:`assignors.plugin.run_assignor` raise, and :class:`QuestionError`.
    """
    topics = question.input.topics()
    owned = {member.id: member.owned for member in question.input.members}
    ask = _ask_coordinator if question.assignor.startswith("server-") else _ask_leader
    subscriptions, checked = ask(question.assignor, topics, question.input.members)
    return Answer(topics, subscriptions, owned, checked)


def _ask_coordinator(
    spec: str, topics: Topics, members: tuple[Member, ...]
) -> tuple[Subscriptions, CheckedAssignment]:
    if spec not in _SERVER_SIDE:
        raise AssignorNotFoundError(
            f"There is no assignor {spec!r}.{did_you_mean(spec, _SERVER_SIDE)} "
            f"On the coordinator there are {' and '.join(_SERVER_SIDE)}."
        )
    subscriptions = {member.id: _subscription(member, None, member.owned) for member in members}
    assignment = _SERVER_SIDE[spec](topics, subscriptions)
    return subscriptions, check_assignment(assignment, subscriptions)


def _ask_leader(
    spec: str, topics: Topics, members: tuple[Member, ...]
) -> tuple[Subscriptions, CheckedAssignment]:
    leader = load_assignor(spec, members[0].assignor_config if members else None)
    subscriptions = {member.id: _client_subscription(spec, leader, member) for member in members}
    checked = run_assignor(leader, topics, subscriptions)
    custom = not isinstance(leader, CooperativeStickyAssignor)  # Kafka trusts its own
    if custom and RebalanceProtocol.COOPERATIVE in leader.rebalance_protocols:
        check_cooperative(subscriptions, checked.assignment)
    return subscriptions, checked


def _client_subscription(spec: str, leader: Assignor, member: Member) -> Subscription:
    """Return what *member* would have sent to the leader."""
    generation = NO_GENERATION if member.generation is None else member.generation
    if isinstance(leader, StickyAssignor):
        known = member.owned_partitions is not None or member.generation is not None
        return _subscription(member, encode_sticky(member.owned, generation) if known else None, ())
    if isinstance(leader, CooperativeStickyAssignor):
        return _subscription(member, encode_cooperative(generation), member.owned)
    own = load_assignor(spec, member.assignor_config)
    with user_code(spec, "give its user data"):
        if member.owned_partitions is not None:
            own.on_assignment(member.owned, generation)
        user_data = own.subscription_user_data(frozenset(member.topics))
    return _subscription(member, user_data, member.owned)


def _subscription(
    member: Member, user_data: bytes | None, owned: tuple[TopicPartition, ...]
) -> Subscription:
    return Subscription(
        topics=member.topics,
        user_data=user_data,
        owned_partitions=owned,
        generation_id=NO_GENERATION if member.generation is None else member.generation,
        rack_id=member.rack,
        group_instance_id=member.group_instance_id,
    )


def _outcome(line_number: int, line: str | bytes) -> Outcome:
    name = None
    try:
        question = read_question(line)
        name = question.assignor
        return Outcome(line_number, name, answer(question))
    except AssignorDefectError as error:
        return Outcome(line_number, name, error=str(error), defect=error.defect.value)
    except (QuestionError, AssignorError) as error:
        return Outcome(line_number, name, error=f"line {line_number}: {error}")
