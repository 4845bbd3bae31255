"""Run an assignor on a group, without a cluster: ``emulator.assign``."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from assignors.question import Outcome, answer, read_question
from assignors.types import Assignment


def assign(
    assignor: str,
    partitions: Mapping[str, int],
    members: Mapping[str, Sequence[str]] | Sequence[Mapping[str, Any]],
) -> Assignment:
    """Return the partitions that an assignor gives to each member.

    *assignor*: ``range``, ``roundrobin``, ``sticky``, ``cooperative-sticky``, ``server-range``,
    ``server-uniform``, or ``module:function`` for the user's own, if
    the module was allowed with :func:`emulator.allow_plugins`. *partitions*: their number by
    topic. *members*: the topics of each member by its id, or one mapping per member with ``id`` and
    ``topics``, and optionally ``ownedPartitions``, ``generation``, ``rack``, ``groupInstanceId``,
    ``userData`` (in base64).

    Raises ``EmulatorError``.

    >>> for member, given in assign("range", {"t": 3}, {"A": ["t"], "B": ["t"]}).items():
    ...     print(member, [number for topic, number in given])
    A [0, 1]
    B [2]
    """
    given: Sequence[Mapping[str, Any]]
    if isinstance(members, Mapping):
        given = [{"id": member, "topics": list(topics)} for member, topics in members.items()]
    else:
        given = members
    question = {"partitionsPerTopic": dict(partitions), "members": [dict(one) for one in given]}
    asked = read_question(json.dumps({"assignor": assignor, "input": question}))
    return answer(asked).checked.assignment


def as_json(outcome: Outcome) -> str:
    """Return the result of an assignor as one line of JSON."""
    result: dict[str, Any] = {}
    if outcome.answer is not None:
        result["assignment"] = outcome.answer.checked.assignment
        if twice := outcome.answer.checked.given_twice:
            result["given_twice"] = [one.partition for one in twice]
        if data := outcome.answer.checked.user_data:
            result["userData"] = {member: b64encode(sent).decode() for member, sent in data.items()}
    else:
        result["error"] = outcome.error
        if outcome.defect is not None:
            result["defect"] = outcome.defect
    return json.dumps(result)
