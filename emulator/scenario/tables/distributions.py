"""The types of values: times, rates and sizes with units, and distributions of times.

A file writes quantities with their unit, and a bare number is refused. In Python a bare number has
the internal unit: microseconds, records a second, bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from math import exp, log
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from emulator.scenario import short_forms
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.units import (
    BYTE_RATE_ALLOWED,
    LARGEST,
    LONGEST_US,
    RATE_ALLOWED,
    SIZE_ALLOWED,
    TIME_ALLOWED,
    TIME_PATTERN,
    US_PER_MS,
    bounded_rate,
    format_byte_rate,
    format_duration,
    format_rate,
    format_size,
    parse_byte_rate,
    parse_duration,
    parse_rate,
    parse_size,
)


class Constant(Part):
    """Always the same time."""

    constant: Duration


def always(us: int) -> Constant:
    """Return a constant for a default; it is not validated, to save time at every start."""
    return Constant.model_construct(constant=us)


class Uniform(Part):
    """Uniformly distributed between the first and the second time."""

    uniform: tuple[Duration, Duration]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.uniform[0] > self.uniform[1]:
            raise ValueError("reversed: the shorter time comes first")
        return self


class Exponential(Part):
    """Exponentially distributed, like the intervals of independent requests."""

    exponential: Duration
    """The mean."""


class LognormalShape(Part):
    """Mostly near the median, with a tail."""

    median: PositiveDuration
    """Half of the times are shorter."""

    p99: Duration
    """The 99th percentile."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.p99 < self.median:
            raise ValueError("p99 lies below the median")
        return self


class Lognormal(Part):
    """Mostly near the median, with a tail."""

    lognormal: LognormalShape


class ParetoShape(Part):
    """A heavy tail: rare, but very long times."""

    minimum: PositiveDuration
    """The shortest time."""

    alpha: float = Field(gt=0)
    """The smaller, the heavier the tail; at 1 and below it has no mean."""

    maximum: Duration | None = None
    """Longer times are cut to this."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.maximum is not None and self.maximum < self.minimum:
            raise ValueError("the maximum lies below the minimum")
        return self


class Pareto(Part):
    """A heavy tail: rare, but very long times."""

    pareto: ParetoShape


class Trace(Part):
    """Times replayed in the order of record offsets; after the last the first follows."""

    trace: Annotated[
        NotEmpty[Duration],
        BeforeValidator(short_forms.trace, json_schema_input_type=str | tuple[Duration, ...]),
    ]
    """The times, or a text file beside the scenario with one time per line."""


def _kind(value: object) -> str | None:
    """Return the kind of a distribution: by its class, or by the first known key of a table."""
    if isinstance(value, Part):
        return f"={type(value).__name__.lower()}"
    return next(
        (f"={key}" for key in short_forms.DISTRIBUTIONS if key in short_forms.keys(value)), None
    )


Distribution = Annotated[
    Annotated[Constant, Tag("=constant")]
    | Annotated[Uniform, Tag("=uniform")]
    | Annotated[Exponential, Tag("=exponential")]
    | Annotated[Lognormal, Tag("=lognormal")]
    | Annotated[Pareto, Tag("=pareto")]
    | Annotated[Trace, Tag("=trace")],
    Discriminator(_kind),
    BeforeValidator(short_forms.distribution),
]
"""A file also writes a plain duration for a constant, and a path (text file, one duration a
line, relative to the scenario) for a trace."""


P99_OF_NORMAL = 2.3263478740408408


def mean_us(distribution: Distribution) -> float:
    """Return the approximate mean of a distribution in us; a large time if it has no mean."""
    match distribution:
        case Constant(constant=us) | Exponential(exponential=us):
            return us
        case Uniform(uniform=(low, high)):
            return (low + high) / 2
        case Lognormal(lognormal=shape):
            sigma = log(shape.p99 / shape.median) / P99_OF_NORMAL
            return shape.median * exp(sigma * sigma / 2)
        case Pareto(pareto=shape):
            return shape.minimum * (shape.alpha / (shape.alpha - 1) if shape.alpha > 1.1 else 10)
        case Trace(trace=times):
            return sum(times) / len(times)


def p99_us(distribution: Distribution) -> float:
    """Return the 99th percentile of a distribution in us; of a trace, its longest time."""
    match distribution:
        case Constant(constant=us):
            return us
        case Exponential(exponential=mean):
            return mean * log(100)
        case Uniform(uniform=(low, high)):
            return low + 0.99 * (high - low)
        case Lognormal(lognormal=shape):
            return shape.p99
        case Pareto(pareto=shape):
            value: float = shape.minimum * 100 ** (1 / shape.alpha)
            return value if shape.maximum is None else min(value, shape.maximum)
        case Trace(trace=times):
            return max(times)


def _duration(value: object, info: ValidationInfo) -> int:
    match value:
        case str():
            return parse_duration(value)
        case bool():
            pass
        case int() | float():
            first, rest = ("ms", "s") if info.field_name == DRAWN else ("s", "ms")
            _refuse_bare(value, info, f'"{{0}}{first}" (or us, {rest}, min, h, d)')
            return _whole(value, LONGEST_US, "microseconds")
    raise ValueError(f"wrong type; allowed is {TIME_ALLOWED}")


def _positive(us: int) -> int:
    if us == 0:
        raise ValueError("too short; allowed is a time longer than 0s")
    return us


def _at_least_1ms(us: int) -> int:
    if us < US_PER_MS:
        raise ValueError("too short; allowed is a time of at least 1ms")
    return us


def _start_time(value: object, info: ValidationInfo) -> int | str:
    if value == "by act":
        return "by act"
    try:
        return _duration(value, info)
    except ValueError as error:
        raise ValueError(f'{error}, or "by act"') from None


def _rate(value: object, info: ValidationInfo) -> float:
    match value:
        case str():
            return parse_rate(value)
        case bool():
            pass
        case int() | float() if math.isfinite(value) and value >= 0:
            _refuse_bare(value, info, '"{0}/s" (or /min, /h)')
            return bounded_rate(float(value))
    raise ValueError(f"wrong type; allowed is {RATE_ALLOWED}")


def _size(value: object, info: ValidationInfo) -> int:
    match value:
        case str():
            return parse_size(value)
        case bool():
            pass
        case int() | float():
            _refuse_bare(value, info, '"{0}B" (or kB, KiB, MB, MiB)')
            return _whole(value, LARGEST, "bytes")
    raise ValueError(f"wrong type; allowed is {SIZE_ALLOWED}")


def _byte_rate(value: object, info: ValidationInfo) -> int:
    match value:
        case str():
            return parse_byte_rate(value)
        case bool():
            pass
        case int() if 1 <= value <= LARGEST:
            _refuse_bare(value, info, '"{0}B/s" (or kB, KiB, MB, MiB)')
            return value
    raise ValueError(f"wrong type; allowed is {BYTE_RATE_ALLOWED}")


DRAWN = "constant"
"""The field of a time that may be drawn, such as ``work`` or a latency: most are milliseconds."""


def _one_record(size: int) -> int:
    if not 1 <= size <= 2**30:
        raise ValueError("allowed is a size from 1B to 1GiB")
    return size


def _refuse_bare(value: float, info: ValidationInfo, example: str) -> None:
    """Reject a number without a unit in a file; in Python it has the internal unit."""
    if info.context is not None:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"not a number; write one with its unit, such as {example.format(5)}")
        raise ValueError(f"a unit is missing, write {example.format(str(value)[:20])}")


def _whole(value: float, most: int, unit: str) -> int:
    if isinstance(value, int) and 0 <= value <= most:
        return value
    raise ValueError(f"allowed are whole {unit} from 0 to {most}")


def _as_text(us: int | str) -> str:
    return us if isinstance(us, str) else format_duration(us)


SIZE_PATTERN = r"^\s*\d+(\.\d+)?\s*(B|kB|KB|KiB|MB|MiB|GB|GiB)\s*$"


def _text(pattern: str, what: str, *examples: str) -> Any:
    schema = {"type": "string", "pattern": pattern, "description": what, "examples": [*examples]}
    return WithJsonSchema(schema)


Duration = Annotated[
    int,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    _text(TIME_PATTERN, "A time with its unit.", "45s", "250ms"),
]
"""Microseconds; a file writes ``"45s"``, ``"250ms"``, ``"300us"``, ``"10min"``, ``"2h"``, ``"7d"``."""

PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
"""A duration above 0."""

PollTime = Annotated[Duration, AfterValidator(_at_least_1ms)]
"""A duration of at least 1 ms: a poll that never waits would stop virtual time."""

StartTime = Annotated[
    int | Literal["by act"],
    PlainValidator(_start_time),
    PlainSerializer(_as_text, return_type=str, when_used="json"),
    _text(TIME_PATTERN + "|^by act$", 'A time with its unit, or "by act".', "45s", "by act"),
]
"""Microseconds, or ``"by act"``: at the time of an act of the scenario."""

Rate = Annotated[
    float,
    BeforeValidator(_rate),
    PlainSerializer(format_rate, return_type=str, when_used="json"),
    _text(r"^\s*\d+(\.\d+)?\s*/\s*(us|ms|s|min|h|d)\s*$", "Records in a time.", "20/s", "3/min"),
]
"""Records a second; a file writes ``"20/s"``, ``"3/min"``."""

Size = Annotated[
    int,
    BeforeValidator(_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    _text(SIZE_PATTERN, "A size with its unit.", "1KiB", "5MB"),
]
"""Bytes; a file writes ``"100B"``, ``"1KiB"``, ``"5MB"``."""

RecordSize = Annotated[Size, AfterValidator(_one_record)]
"""The size of a record: 1 B to 1 GiB."""

ByteRate = Annotated[
    int,
    BeforeValidator(_byte_rate),
    PlainSerializer(format_byte_rate, return_type=str, when_used="json"),
    _text(
        r"^\s*\d+(\.\d+)?\s*(B|kB|KB|KiB|MB|MiB|GB|GiB)\s*/\s*(us|ms|s|min|h|d)\s*$",
        "Bytes in a time.",
        "100MiB/s",
    ),
]
"""Bytes a second; a file writes ``"100MiB/s"``."""


def _time_of_run(value: object) -> object:
    """Return the value; raise ValueError if it is a date, which ``to_datetime`` of Kafka's tool takes."""
    if _DATE.match(str(value)):
        raise ValueError('a time of the run is needed, such as "3min" (not a date)')
    return value


_DATE = re.compile(r"\d{4}-\d\d")
TimeOfRun = Annotated[Duration, BeforeValidator(_time_of_run)]
"""Microseconds since the start of the run, for keys that take a date in Kafka's own tools."""


def _named_shares(value: object) -> object:
    if isinstance(value, Mapping):
        return value
    raise ValueError(
        "wrong type; allowed is a table of keys with their shares of all records, such as "
        "{ big-customer = 0.3 }; without names: zipf = 1.1"
    )


class Keys(Part):
    """The keys of a topic's records: each partition gets the records of its keys, as Kafka hashes them."""

    count: int = Field(1_000, ge=1, le=100_000)
    """Keys without a name, ``key-0``, ``key-1``, …"""

    zipf: float = Field(0.0, ge=0, le=10)
    """Their Zipf exponent: the key of rank r is 1/r^zipf as frequent as the first; 0: all alike."""

    hot: Annotated[
        dict[str, Annotated[float, Field(gt=0, lt=1)]], BeforeValidator(_named_shares)
    ] = Field(default_factory=dict)
    """Keys with a name, each with its share of all records."""

    split: int = Field(1, ge=1, le=1_000)
    """Suffixes (``NAME-0``, …), of which the producer adds one to each key with a name."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if sum(self.hot.values()) >= 1:
            raise ValueError('the shares of "hot" leave nothing for the other keys')
        return self
