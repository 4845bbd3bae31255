"""When faults and acts happen: at a time, at random in a window, or at a step of the protocol."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.distributions import Duration
from emulator.scenario.part import Part
from emulator.scenario.problems import listed


class Step(Part):
    """A member reaches a step of the protocol."""

    member: str
    step: short_forms.StepName
    nth: int = Field(1, ge=1)
    """Only the n-th time."""

    after: Duration = 0
    """Count only steps from this time on."""


class After(Part):
    """A moment relative to another fault or act."""

    fault: str
    """Its id."""

    phase: Literal["begins", "ends"] = "ends"


def _kind_of_moment(value: object) -> str:
    return "=after" if isinstance(value, After) or "fault" in short_forms.keys(value) else "=step"


Moment = Annotated[
    Annotated[Step, Tag("=step")] | Annotated[After, Tag("=after")],
    Discriminator(_kind_of_moment),
    BeforeValidator(short_forms.when),
]
"""A file also writes ``"billing-1 sent SyncGroup"`` or ``"crash-1 ends"``."""


class Timed(Part):
    """The keys of all faults and acts: an id, and exactly one way to give the time."""

    id: str = Field("", pattern=f"^$|{short_forms.PARTY_NAME}")
    """Empty in a file: the verb and a number."""

    at: Duration | None = None
    between: tuple[Duration, Duration] | None = None
    """At random in this window."""

    when: Moment | None = None
    delay: Duration = 0
    """Added to ``at``, ``between`` or ``when``."""

    @model_validator(mode="after")
    def _timed_once(self) -> Self:
        ways = [key for key in ("at", "between", "when") if getattr(self, key) is not None]
        if len(ways) != 1:
            found = f"both {listed(ways[:2])}" if ways else "no time"
            raise ValueError(f'{found}; say when by exactly one of "at", "between", "when"')
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError('"between" is reversed: the earlier time comes first')
        return self
