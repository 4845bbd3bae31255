"""What every table of a scenario has in common."""

from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

Item = TypeVar("Item")


class Source(NamedTuple):
    """Where a scenario is read from; given to validators as their context.

    With it, text is judged as a file's: a bare number is refused where a unit belongs.
    """

    name: str
    folder: Path | None = None
    """Where paths in the file begin; None: there are none."""


class Part(BaseModel):
    """Any table of a scenario file: frozen, and unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=True,
        defer_build=True,
    )


def _not_empty(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if not items:
        raise ValueError("empty; at least one is needed")
    return items


NotEmpty = Annotated[tuple[Item, ...], AfterValidator(_not_empty)]
"""A list of at least one, said after what is wrong with its items."""
