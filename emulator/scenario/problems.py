"""Problems of a scenario, for people: the key, the given value, the allowed ones, the closest match."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Sequence

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from assignors.values import dataclass
from emulator.errors import EmulatorError


class Missing(enum.Enum):
    """Marks a missing value; an enum, so that it is the same object after pickling."""

    NOT_GIVEN = "not given"


NOT_GIVEN = Missing.NOT_GIVEN

MAX_PROBLEMS = 50
"""Problems of one file that are looked for and shown."""

_LONGEST_SHOWN = 80
_FEW = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a scenario."""

    path: str
    """The path of the key, as in an override; empty: the whole file."""

    reason: str
    """The problem, the allowed values, and the closest match."""

    given: object = NOT_GIVEN

    line: int | None = None
    """The line of the key in its file; None: not known, or not from a file."""

    def __str__(self) -> str:
        if self.given is NOT_GIVEN:
            return f"{self.path}: {self.reason}" if self.path else self.reason
        return f"{self.path} = {shown(self.given)}: {self.reason}"


class ScenarioError(EmulatorError):
    """An invalid scenario; the message lists its problems, of very many the first ones."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        super().__init__(name, tuple(problems))
        self.name = name
        self.problems = tuple(problems)

    def __str__(self) -> str:
        shown = self.problems[:MAX_PROBLEMS]
        lines = [f"{self._position(problem)}: {problem}" for problem in shown]
        if len(self.problems) >= MAX_PROBLEMS:
            lines.append(f"{self.name}: the first {MAX_PROBLEMS} problems; there may be more")
        return "\n".join(lines)

    def _position(self, problem: Problem) -> str:
        return self.name if problem.line is None else f"{self.name}:{problem.line}"


def shown(value: object) -> str:
    """Return a value as a file would spell it, shortened to one line."""
    text = _spelled(value, depth=3)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _spelled(value: object, depth: int) -> str:
    match value:
        case str():
            return json.dumps(value[:_LONGEST_SHOWN], ensure_ascii=False)
        case bool():
            return str(value).lower()
        case int() if abs(value) >= 10**_LONGEST_SHOWN:
            return "a number of more than 80 digits"
        case dict() | list() | tuple() if depth == 0:
            return "…"
        case dict() if not value:
            return "{}"
        case dict():
            first = list(value.items())[:10]
            return f"{{ {', '.join(f'{k} = {_spelled(v, depth - 1)}' for k, v in first)} }}"
        case list() | tuple():
            return f"[{', '.join(_spelled(item, depth - 1) for item in value[:20])}]"
    return str(value)


def nearest(word: object, words: Iterable[str], count: int = 1) -> list[str]:
    """Return the words closest to ``word``, closest match first; none if nothing is close."""
    from difflib import get_close_matches  # noqa: PLC0415  only needed once something is wrong

    if not isinstance(word, str) or len(word) > 200:
        return []
    by_lower = {known.lower(): known for known in words}
    return [by_lower[match] for match in get_close_matches(word.lower(), by_lower, count)]


def hint(word: object, words: Iterable[str]) -> str:
    """Return ``; did you mean "…"?`` with the closest of the words, or an empty text."""
    return "".join(f'; did you mean "{near}"?' for near in nearest(word, words))


def listed(words: Iterable[str]) -> str:
    """Return words quoted and separated by commas."""
    return ", ".join(f'"{word}"' for word in words)


def few_listed(words: Sequence[str]) -> str:
    """Return the first words, quoted, and the number of further words."""
    more = f" and {len(words) - _FEW} more" if len(words) > _FEW else ""
    return listed(words[:_FEW]) + more


def refuse(
    what: str, wrong: Iterable[tuple[tuple[str | int, ...], object, str]]
) -> ValidationError:
    """Return an error for a validator to raise: (place below its value, given, reason) each."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError("refused", "{reason}", {"reason": reason}),
            loc=place,
            input=given,
        )
        for place, given, reason in wrong
    ]
    return ValidationError.from_exception_data(what, details)
