"""Acts of an administrator on committed offsets: deleted, reset, or gone with their group."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from emulator.scenario.moments import Timed
from emulator.scenario.problems import listed
from emulator.scenario.quantities import Duration, PositiveDuration

Partitions = tuple[Annotated[int, Field(ge=0)], ...]

TOOL_TIMEOUT_US = 5_000_000
"""What ``kafka-consumer-groups`` waits where nobody says ``--timeout``."""

WAYS = ("to", "shift_by", "by_duration", "to_datetime")
"""The keys that say where offsets are reset to."""


class DeleteOffsets(Timed):
    """Delete the committed offsets of a topic (``kafka-consumer-groups --delete-offsets``).

    Refused while members of the group subscribe to the topic.
    """

    verb: Literal["delete_offsets"] = "delete_offsets"
    group: str
    topic: str
    partitions: Partitions = ()
    """Left out: all of the topic."""

    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """How long the tool tries each of its requests."""


def _kind_of_place(value: object) -> str:
    return "=word" if isinstance(value, str) else "=offset"


class ResetOffsets(Timed):
    """Commit other offsets for a group (``kafka-consumer-groups --reset-offsets --execute``).

    Refused unless the group has no members.
    """

    verb: Literal["reset_offsets"] = "reset_offsets"
    group: str
    topic: str | None = None
    """Left out: all topics for which the group has committed offsets."""

    partitions: Partitions = ()
    """With ``topic``; left out: all of it."""

    to: (
        Annotated[
            Annotated[Literal["earliest", "latest"], Tag("=word")]
            | Annotated[int, Field(ge=0), Tag("=offset")],
            Discriminator(_kind_of_place),
        ]
        | None
    ) = None
    """The beginning, the end, or an offset."""

    shift_by: int | None = None
    """So many records on from the committed offset; below 0: back."""

    by_duration: PositiveDuration | None = None
    """To the first record that is no older than this."""

    to_datetime: Duration | None = None
    """To the first record from this time of the run on."""

    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """How long the tool tries each of its requests."""

    @model_validator(mode="after")
    def _resets_once(self) -> Self:
        said = [way for way in WAYS if getattr(self, way) is not None]
        if len(said) != 1:
            found = f"both {listed(said[:2])}" if said else "no place"
            raise ValueError(f"{found}; say where to by exactly one of {listed(WAYS)}")
        if self.partitions and self.topic is None:
            raise ValueError('"partitions" without "topic"; say of which topic')
        return self


class DeleteGroup(Timed):
    """Delete a group with all its committed offsets (``kafka-consumer-groups --delete``).

    Refused while the group has members.
    """

    verb: Literal["delete_group"] = "delete_group"
    group: str
    timeout: PositiveDuration = TOOL_TIMEOUT_US
    """How long the tool tries its request."""
