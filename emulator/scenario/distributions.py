"""How long things take: distributions of times."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import spelling
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.quantities import Duration, PositiveDuration


class Constant(Part):
    """Always the same time."""

    constant: Duration


def always(us: int) -> Constant:
    """Return a constant for a default: not validated, which would cost every start its time."""
    return Constant.model_construct(constant=us)


class Uniform(Part):
    """Any time from the first to the second, each as likely."""

    uniform: tuple[Duration, Duration]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.uniform[0] > self.uniform[1]:
            raise ValueError("reversed: the shorter time comes first")
        return self


class Exponential(Part):
    """Times without memory, such as those of independent requests."""

    exponential: Duration
    """The mean."""


class LognormalShape(Part):
    """Mostly near the median, with a tail."""

    median: PositiveDuration
    p99: Duration
    """Only one in a hundred is longer."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.p99 < self.median:
            raise ValueError("p99 lies below the median")
        return self


class Lognormal(Part):
    """Mostly near the median, with a tail."""

    lognormal: LognormalShape


class ParetoShape(Part):
    """A heavy tail: seldom, but very long."""

    minimum: PositiveDuration
    alpha: float = Field(gt=0)
    """The smaller, the heavier the tail; at 1 and below it has no mean."""

    maximum: Duration | None = None
    """Longer ones are cut to this."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.maximum is not None and self.maximum < self.minimum:
            raise ValueError("the maximum lies below the minimum")
        return self


class Pareto(Part):
    """A heavy tail: seldom, but very long."""

    pareto: ParetoShape


class Trace(Part):
    """Times replayed in order of record offset, from the start again at the end."""

    trace: Annotated[
        NotEmpty[Duration],
        BeforeValidator(spelling.trace, json_schema_input_type=str | tuple[Duration, ...]),
    ]


def _kind(value: object) -> str | None:
    """Name the distribution a value is: by its class, or by the first known key of a table."""
    if isinstance(value, Part):
        return f"={type(value).__name__.lower()}"
    return next((f"={key}" for key in spelling.DISTRIBUTIONS if key in spelling.keys(value)), None)


Distribution = Annotated[
    Annotated[Constant, Tag("=constant")]
    | Annotated[Uniform, Tag("=uniform")]
    | Annotated[Exponential, Tag("=exponential")]
    | Annotated[Lognormal, Tag("=lognormal")]
    | Annotated[Pareto, Tag("=pareto")]
    | Annotated[Trace, Tag("=trace")],
    Discriminator(_kind),
    BeforeValidator(spelling.distribution),
]
"""A file also writes a plain duration for a constant, and a path (text file, one duration a
line, relative to the scenario) for a trace."""


def mean_us(distribution: Distribution) -> float:
    """Return about how long it takes on average; where there is no mean, a large time."""
    match distribution:
        case Constant(constant=us) | Exponential(exponential=us):
            return us
        case Uniform(uniform=(low, high)):
            return (low + high) / 2
        case Lognormal(lognormal=shape):
            return (shape.median + shape.p99) / 2
        case Pareto(pareto=shape):
            return shape.minimum * (shape.alpha / (shape.alpha - 1) if shape.alpha > 1.1 else 10)
        case Trace(trace=times):
            return sum(times) / len(times)
