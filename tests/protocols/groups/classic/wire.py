"""Requests to a coordinator and its answers, in short form."""

from __future__ import annotations

from typing import Any

from assignors.types import Subscription, TopicPartition
from protocols.messages import (
    Header,
    JoinGroupResponse,
    Message,
    Protocol,
)
from protocols.messages.errors import ErrorCode

from ...coordinator_driver import EPOCH_MS, GROUP

__all__ = ["EPOCH_MS", "GROUP", "Call", "errors_of", "protocols", "some", "subscription"]


def subscription(*topics: str, **more: Any) -> Subscription:
    return Subscription(topics=topics or ("t",), **more)


def protocols(*names: str, topics: tuple[str, ...] = ("t",), **more: Any) -> tuple[Protocol, ...]:
    return tuple(Protocol(name, subscription(*topics, **more)) for name in names or ("range",))


def some(*numbers: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in numbers)


class Call:
    """A request that was sent, and its answer once there is one."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.answers: list[Message] = []

    @property
    def answered(self) -> bool:
        return bool(self.answers)

    @property
    def answer(self) -> Any:
        assert len(self.answers) == 1, self.answers
        return self.answers[0]

    @property
    def error(self) -> ErrorCode:
        return self.answer.error


def errors_of(call: Call) -> list[ErrorCode]:
    """The error of each partition or member of an answer."""
    answer = call.answer
    if isinstance(answer, JoinGroupResponse):
        return [answer.error]
    rows = answer.errors if hasattr(answer, "errors") else answer.members
    return [row[-1] for row in rows]
