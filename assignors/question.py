"""A question to an assignor as JSON, and its answer: the format of Kafka's golden steps.

The input is ``{"assignor": …, "input": …}``, the output the partitions of each member. The
subscription of each member, user data included, is made from its owned partitions in the question.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from assignors.claims import encode_cooperative, encode_sticky
from assignors.errors import (
    AssignorDefectError,
    AssignorError,
    AssignorNotFoundError,
    EmulatorError,
    did_you_mean,
)
from assignors.plugin import (
    CheckedAssignment,
    check_assignment,
    check_cooperative,
    is_built_in,
    run_assignor,
    user_code,
)
from assignors.registry import SERVER_SIDE, load_assignor
from assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from assignors.types import (
    NO_GENERATION,
    Assignor,
    RebalanceProtocol,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)
from assignors.values import dataclass

PARTITIONS_MAXIMUM = 10_000_000
"""Per question; more would exhaust the memory."""

_Count = Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
_TopicId = Annotated[StrictStr, Field(min_length=22, max_length=22)]


class QuestionError(EmulatorError, ValueError):
    """The question cannot be read; the message names the field and the allowed values."""


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, frozen=True, validate_by_name=False
    )


class Member(_Model):
    """One member of the group."""

    id: StrictStr = Field(min_length=1)
    topics: tuple[StrictStr, ...]
    group_instance_id: StrictStr | None = None
    rack: StrictStr | None = None
    owned_partitions: tuple[tuple[StrictStr, _Count], ...] | None = None
    generation: Annotated[StrictInt, Field(ge=-1, le=2**31 - 1)] | None = None
    assignor_config: dict[str, Any] | None = None
    """For an assignor of the user; not part of the golden format."""

    user_data: StrictStr | None = None
    """The bytes of its assignor for the leader, in base64; left out: what its assignor would send."""

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        """The partitions of the member after its last assignment."""
        return tuple(TopicPartition(*pair) for pair in self.owned_partitions or ())


class Input(_Model):
    """The group and its topics."""

    id: Any = None
    partitions_per_topic: dict[StrictStr, _Count]
    topic_ids: dict[StrictStr, _TopicId] = {}
    partition_racks: dict[StrictStr, tuple[tuple[StrictStr, ...], ...]] = {}
    members: tuple[Member, ...]

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        member, times = (Counter(one.id for one in self.members).most_common(1) or [("", 0)])[0]
        if times > 1:
            raise ValueError(f"member {member!r} occurs {times} times; ids must be unique")
        if (total := sum(self.partitions_per_topic.values())) > PARTITIONS_MAXIMUM:
            raise ValueError(
                f"{total} partitions are too many; the maximum is {PARTITIONS_MAXIMUM}"
            )
        return self

    def topics(self) -> Topics:
        """Return the topic metadata that the assignor sees."""
        return Topics(
            partition_counts=self.partitions_per_topic,
            racks=self.partition_racks,
            topic_ids={topic: _id_bytes(topic, text) for topic, text in self.topic_ids.items()},
        )


class Question(_Model):
    """The assignor and its input; the other fields of a golden step are ignored."""

    assignor: StrictStr
    input: Input
    expected: Any = None
    round: Any = None
    event: Any = None


def read_question(line: str | bytes) -> Question:
    """Read one line of JSON. Raises :class:`QuestionError`."""
    try:
        return Question.model_validate_json(line)
    except ValidationError as error:
        raise QuestionError(_explain(error)) from error


def _id_bytes(topic: str, text: str) -> bytes:
    try:
        return base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError as error:
        raise QuestionError(
            f"input.topicIds.{topic}: {text!r} is not a topic id; expected 22 characters of base64url"
        ) from error


def _explain(error: ValidationError) -> str:
    """Return the first error in one line; a misspelt field comes before a missing one."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    place = _place(first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no such field.{_nearest_field(first['loc'])}"
    message = first["msg"].removeprefix("Value error, ").replace(" at line 1 column", " at column")
    if not place:
        return message
    given = f"; got {first['input']!r:.60}" if isinstance(first["input"], str | int | float) else ""
    return f"{place}: {message}{given}"


def _place(loc: tuple[str | int, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".")


def _nearest_field(loc: tuple[str | int, ...]) -> str:
    model = Member if "members" in loc else Input if "input" in loc else Question
    return did_you_mean(str(loc[-1]), _fields(model))


def _fields(model: type[BaseModel]) -> Iterator[str]:
    return (field.alias or name for name, field in model.model_fields.items())


_SERVER_SIDE = {f"server-{name}": function for name, function in SERVER_SIDE.items()}
"""The coordinator's assignors by their names in a question."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The assignment, and the group that it is for."""

    topics: Topics
    subscriptions: Subscriptions
    owned: Mapping[str, tuple[TopicPartition, ...]]
    checked: CheckedAssignment


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one question, or its error."""

    line_number: int
    assignor: str | None
    answer: Answer | None = None
    error: str | None = None
    defect: str | None = None
    """The defect of Kafka's assignor that it met: an outcome, not bad input."""

    @property
    def is_bad_input(self) -> bool:
        """Whether the question or the user's assignor is wrong."""
        return self.error is not None and self.defect is None


def outcomes(lines: Iterable[str | bytes]) -> Iterator[Outcome]:
    """Yield the outcome of each question, in order; blank lines are skipped."""
    for line_number, line in enumerate(lines, start=1):
        if line.strip():
            yield _outcome(line_number, line)


def answer(question: Question) -> Answer:
    """Return the assignment that the assignor of *question* makes.

    Raises :class:`QuestionError`, and the errors of :func:`assignors.registry.load_assignor` and
    :func:`assignors.plugin.run_assignor`.
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
    if any(member.user_data is not None for member in members):
        raise QuestionError(
            f"userData is for the assignors of consumers; {spec} runs on the coordinator, "
            "which gets none"
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
    if not is_built_in(leader) and RebalanceProtocol.COOPERATIVE in leader.rebalance_protocols:
        check_cooperative(subscriptions, checked.assignment)
    return subscriptions, checked


def _client_subscription(spec: str, leader: Assignor, member: Member) -> Subscription:
    """Return the subscription that *member* would have sent to the leader."""
    if member.user_data is not None:
        return _subscription(member, _bytes_of(member.user_data, member.id), member.owned)
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


def _bytes_of(text: str, member: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise QuestionError(
            f"member {member!r}: userData is not base64: {text!r:.60}; encode the bytes, for example "
            'with base64.b64encode(b"...")'
        ) from None


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
