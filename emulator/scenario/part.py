"""The base class of all tables of a scenario, in files and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from emulator.scenario.problems import NOT_GIVEN, Problem, ScenarioError

Document = dict[str, Any]
"""A TOML document, or a table of one."""

_WRONG_TYPE = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "datetime_type": "a date and time such as 2026-05-04T09:00:00Z",
    "dict_type": "a table",
    "tuple_type": "a list",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_PLAIN = {
    "missing": "is missing",
    "string_too_short": "empty; a text is needed",
    "finite_number": "out of range; allowed is a finite number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def wrong_value(kind: str, context: Mapping[str, Any]) -> str | None:
    """Return the text for a value that is missing, out of range or of a wrong type; else None.

    *kind*, *context*: ``type`` and ``ctx`` of one of pydantic's errors.
    """
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"out of range; allowed is {words} {context[name]}"
    if kind == "string_too_long":
        return f"too long; allowed are {context['max_length']} characters"
    return (
        f"wrong type; allowed is {_WRONG_TYPE[kind]}" if kind in _WRONG_TYPE else _PLAIN.get(kind)
    )


Item = TypeVar("Item")


class ScenarioSource(NamedTuple):
    """The source of a scenario; given to validators as their context.

    With it, values are validated as those of a file, where a number without its unit is rejected.
    """

    name: str
    folder: Path | None = None
    """The base of relative paths; None: paths are rejected."""

    is_file: bool = True
    """Whether *folder* is that of the scenario's file, whose modules the scenario may name."""

    is_checked: bool = False
    """Whether it was written from a loaded scenario, and may name modules loaded for scenarios."""

    @property
    def module_folders(self) -> tuple[Path, ...] | None:
        """Return the folders whose modules the scenario may name; None: all that were loaded."""
        if self.is_checked:
            return None
        return (self.folder,) if self.is_file and self.folder else ()


class Part(BaseModel):
    """Any table of a scenario file: immutable, and unknown keys are rejected.

    Raises ScenarioError for invalid values and for assignments to its fields.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=True,
        defer_build=True,
    )

    def __init__(self, /, **values: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(_with_tuples(values), self_instance=self)
        except ValidationError as error:
            problems = [_problem(type(self), details) for details in error.errors()]
            raise ScenarioError(type(self).__name__, problems) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # for values from Python only

    def __setattr__(self, name: str, value: object) -> None:
        raise ScenarioError(type(self).__name__, [Problem(name, _IMMUTABLE, value)])

    def __delattr__(self, name: str) -> None:
        raise ScenarioError(type(self).__name__, [Problem(name, _IMMUTABLE)])


def _with_tuples(value: Any) -> Any:
    """Return a value with all its lists as tuples, since Python code may write either."""
    match value:
        case list() | tuple():
            return tuple(_with_tuples(item) for item in value)
        case dict():
            return {key: _with_tuples(below) for key, below in value.items()}
    return value


def _problem(table: type[Part], details: Mapping[str, Any]) -> Problem:
    """Return a pydantic error in a table built in Python as a problem."""
    steps = [step for step in details["loc"] if not str(step).startswith("=")]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    kind, context = details["type"], details.get("ctx", {})
    given = NOT_GIVEN if kind == "missing" or not steps else details["input"]
    reason = wrong_value(kind, context)
    if kind == "extra_forbidden" and len(steps) == 1:
        known = list(table.model_fields)
        from emulator.scenario.meant_words import unknown_key  # noqa: PLC0415  only for errors

        reason = unknown_key(steps[0], table.__name__, known)
    own = context.get("error", context.get("reason"))
    return Problem(path.removeprefix("."), str(reason or own or details["msg"]), given)


_IMMUTABLE = (
    "cannot be changed: scenarios are immutable; make a changed copy with "
    'emulator.load(scenario, ["path=value"])'
)


def _not_empty(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if not items:
        raise ValueError("empty; at least one is needed")
    return items


NotEmpty = Annotated[tuple[Item, ...], AfterValidator(_not_empty)]
"""A list of at least one, checked after its items."""


def word_or_other(value: object) -> str:
    """Return the tag of a value that is a word or something else, for a discriminated union."""
    return "=word" if isinstance(value, str) else "=other"
