"""Patterns of topic names that clients match, without exponential time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from emulator.errors import EmulatorError

_NO_QUANTIFIERS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]", re.DOTALL)
"""Escapes and classes: what looks like a quantifier in them is none."""

_REPETITION: Final = re.compile(r"(\)?)(?:[*+]|\{\d*,?\d*\})")
_MOST_REPETITIONS: Final = 3


class CostlyPatternError(EmulatorError):
    """A pattern can take exponential time."""


def client_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that checks whether a whole topic name matches, as clients do.

    RE2 matches in linear time. It lacks look-arounds and backreferences, which clients have: such a
    pattern backtracks, and only a few single characters of it may be repeated. Raises ``re.error``
    for a malformed pattern, and :class:`CostlyPatternError`.
    """
    from emulator.scenario.java_patterns import without_java  # noqa: PLC0415  only for patterns
    from protocols.groups.kip848.patterns import matcher  # noqa: PLC0415  as above

    pattern = without_java(pattern)
    compiled = re.compile(pattern)
    try:
        return matcher(pattern)
    except ValueError:
        _refuse_costly(pattern)
        return lambda topic: compiled.fullmatch(topic) is not None


def _refuse_costly(pattern: str) -> None:
    found = _REPETITION.findall(_NO_QUANTIFIERS.sub("x", pattern))
    if any(found) or len(found) > _MOST_REPETITIONS:
        raise CostlyPatternError(
            "with look-arounds or backreferences it can take exponential time; then repeat no group, "
            f"and at most {_MOST_REPETITIONS} single characters or classes"
        )
