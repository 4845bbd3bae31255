"""What can be wrong with a pattern of topic names, in the syntax of whoever matches it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from emulator.scenario.model import Group
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import consumer_settings


def pattern_problems(
    path: str, pattern: str, group: Group, known: Sequence[str]
) -> Iterator[Problem]:
    """Yield what is wrong with a pattern of a group: it cannot be read, or it matches nothing."""
    try:
        matches = _matcher(pattern, group)
    except (re.error, RecursionError, OverflowError) as error:
        yield Problem(path, f"no regular expression: {error}", pattern)
        return
    except ValueError as error:
        reason = (
            f"INVALID_REGULAR_EXPRESSION: not in the syntax of RE2J, which brokers have: {error}"
        )
        yield Problem(path, reason, pattern)
        return
    if not any(matches(topic) for topic in known):
        yield Problem(path, f"matches none of the topics {', '.join(known[:6])}", pattern)


def broker_problems(group: Group) -> Iterator[Problem]:
    """Yield a problem if brokers are to match what they are never told."""
    if group.pattern_by != "broker":
        return
    path = f"group[{group.id}].pattern_by"
    if group.pattern is None and all(member.pattern is None for member in group.members):
        yield Problem(path, 'there is no "pattern" to match; name one, or leave this out', "broker")
    protocols = {consumer_settings(group, member).group_protocol for member in group.members}
    if "classic" in protocols:
        reason = (
            "a consumer of the classic protocol matches its pattern itself; leave this out, or set "
            "group.protocol=consumer"
        )
        yield Problem(path, reason, "broker")


def _matcher(pattern: str, group: Group) -> Callable[[str], object]:
    """Return what asks of a name whether a pattern matches it; raise ValueError for no pattern."""
    if group.pattern_by == "client":
        return re.compile(pattern).fullmatch
    from protocols.groups.kip848.patterns import matcher  # noqa: PLC0415  only such groups need RE2

    return matcher(pattern)
