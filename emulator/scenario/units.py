"""Convert times, rates and sizes from text to numbers and back.

Internally, a time is int microseconds, a rate is records per second, a size is bytes. A file writes
all three with their unit (``"45s"``, ``"20/s"``, ``"1KiB"``) and may not write a bare number, which
in Python has the internal unit. Kafka's own settings keep Kafka's units: an integer is in Kafka's
unit, a text has a unit of its own.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from protocols.settings import Kind

US_PER_MS = 1_000
US_PER_S = 1_000_000
US_PER_MIN = 60 * US_PER_S
US_PER_H = 60 * US_PER_MIN
US_PER_D = 24 * US_PER_H

TIME_UNITS = {
    "us": 1,
    "ms": US_PER_MS,
    "s": US_PER_S,
    "min": US_PER_MIN,
    "h": US_PER_H,
    "d": US_PER_D,
}
SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
MEANT_UNITS = {
    **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("sec", "secs", "second", "seconds", "S"), "s"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours", "H"), "h"),
    **dict.fromkeys(("day", "days", "D"), "d"),
    **dict.fromkeys(("msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("µs", "μs", "usec", "micros", "microseconds"), "us"),
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("k", "K", "kb", "kib"), "KiB"),
    **dict.fromkeys(("M", "mb", "mib"), "MiB"),
    **dict.fromkeys(("G", "gb", "gib"), "GiB"),
}
"""Units that are not allowed, with the unit that is probably meant."""

LONGEST_US = 36_500 * US_PER_D
"""A hundred years: a longer time is probably a mistake, and sums must fit into 64 bits."""

FASTEST = 1_000_000_000.0
"""Records a second."""

SLOWEST = US_PER_S / LONGEST_US
"""One record in a hundred years; only 0 is less."""

LARGEST = 2**63 - 1
"""Bytes."""

_QUANTITY = re.compile(r"(-?)([0-9]{1,20})(?:\.([0-9]{1,40}))?\s*([^0-9]*)")
_PARTS = re.compile(
    "".join(rf"\s*(?:[0-9]{{1,20}}\s*{unit})?" for unit in ("d", "h", "min", "s", "ms", "us"))
    + r"\s*"
)
"""A whole number of each of several units; empty texts match, too."""

_PART = re.compile(r"[0-9]+\s*[a-z]+")
PERCENT = "^[0-9]{1,4}%$"
TIME_PATTERN = (
    r"^\s*(\d+\.\d+\s*(us|ms|s|min|h|d)|(?=\d)(\d+\s*d)?\s*(\d+\s*h)?\s*(\d+\s*min)?\s*(\d+\s*s)?\s*"
    r"(\d+\s*ms)?\s*(\d+\s*us)?)\s*$"
)
"""One number with a unit, or whole numbers of several units, the largest first."""

TIME_ALLOWED = 'a time with a unit (us, ms, s, min, h, d) such as "45s" or "1h30min"'
RATE_ALLOWED = 'a rate with a unit such as "20/s" or "3/min"'
BYTE_RATE_ALLOWED = 'a size in a time with units such as "100MiB/s"'
SIZE_ALLOWED = 'a size with a unit (B, kB, KiB, MB, MiB, GB, GiB) such as "1KiB"'


def parse_duration(text: str) -> int:
    """Return the microseconds of a text such as ``"45s"``, ``"1.5s"``, ``"300us"`` or ``"2h10min"``.

    Several units stand in order, the largest first. Raise ValueError if it is not a time, negative,
    longer than 100 years, or not a whole number of microseconds.

    >>> parse_duration("1.5s"), parse_duration("1min 30s")
    (1500000, 90000000)
    """
    parts = (_PARTS.fullmatch(text) and _PART.findall(text)) or [text]
    us = sum(_scaled(part, TIME_UNITS, TIME_ALLOWED) for part in parts)
    if us > LONGEST_US:
        raise ValueError("too long; the longest time is 36500d")
    return us


def parse_rate(text: str) -> float:
    """Return the records per second of a text such as ``"20/s"`` or ``"3/min"``.

    Raise ValueError if it is not a rate, negative, or above one billion per second.

    >>> parse_rate("3/min")
    0.05
    """
    number, slash, unit = text.partition("/")
    meant = _meant_rate(text)
    if meant or not slash:
        reason = "a unit is missing" if text.strip()[-1:].isdigit() else "not a rate"
        reason = "not understood" if meant else reason
        raise ValueError(f"{reason}; allowed is {RATE_ALLOWED}{meant}")
    numerator, denominator, rest = _number(number.strip(), RATE_ALLOWED)
    if rest:
        raise ValueError(f"not a rate; allowed is {RATE_ALLOWED}")
    rate = numerator * US_PER_S / (denominator * _unit(unit.strip(), TIME_UNITS, RATE_ALLOWED))
    return bounded_rate(rate)


_SPOKEN_RATE = re.compile(
    r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kK]?)\s*(?:(?:records?|messages?|msgs?|events?)\s*)?"
    r"(?:(?:per\s+|an?\s+|each\s+|/\s*|p)([a-zA-Z]{1,20})|([rtq]ps))\s*"
)
"""How people write a rate: ``300 per sec``, ``400rps``, ``1k/s``, ``20 records/s``."""


def _meant_rate(text: str) -> str:
    """Return the rate that is probably meant, as the end of a message; empty: it is not known.

    >>> _meant_rate("300 per sec"), _meant_rate("1k msgs/s"), _meant_rate("300"), _meant_rate("3/s")
    ('; did you mean "300/s"?', '; did you mean "1000/s"?', '', '')
    """
    found = _SPOKEN_RATE.fullmatch(text)
    if found is None:
        return ""
    unit = "s" if found[4] else MEANT_UNITS.get(found[3], found[3])
    number = f"{float(found[1]) * 1000:g}" if found[2] else found[1]
    meant = f"{number}/{unit}"
    is_other = meant != text.replace(" ", "")
    return f'; did you mean "{meant}"?' if unit in TIME_UNITS and is_other else ""


def bounded_rate(rate: float) -> float:
    """Return the rate; raise ValueError if it is out of range."""
    if rate > FASTEST:
        raise ValueError("too fast; the highest rate is 1000000000/s")
    if 0 < rate < SLOWEST:
        raise ValueError("too slow; the lowest rate above 0/s is 0.00003/d")
    return rate


def parse_size(text: str) -> int:
    """Return the bytes of a text such as ``"100B"``, ``"1KiB"`` or ``"5MB"``.

    Raise ValueError if it is not a size, negative, too large, or not a whole number of bytes.

    >>> parse_size("1KiB")
    1024
    """
    size = _scaled(text, SIZE_UNITS, SIZE_ALLOWED)
    if size > LARGEST:
        raise ValueError("too large for 64 bits")
    return size


def parse_byte_rate(text: str) -> int:
    """Return the bytes per second of a text such as ``"100MiB/s"``.

    Raise ValueError if it is not a rate, is 0, or is not a whole number of bytes per second.

    >>> parse_byte_rate("60kB/min")
    1000
    """
    size, slash, unit = text.partition("/")
    if not slash:
        raise ValueError(f"a unit of time is missing; allowed is {BYTE_RATE_ALLOWED}")
    per_us = _unit(unit.strip(), TIME_UNITS, BYTE_RATE_ALLOWED)
    rate, rest = divmod(parse_size(size) * US_PER_S, per_us)
    if rest or not rate:
        raise ValueError("allowed is a whole number of bytes a second, at least 1B/s")
    return rate


def parse_replicas(given: object) -> int | str:
    """Return a number of members, or a percentage of them, as it is given; raise ValueError for others.

    >>> parse_replicas(2), parse_replicas("25%"), parse_replicas("0%")
    (2, '25%', 0)
    """
    if isinstance(given, str) and re.fullmatch(PERCENT, given):
        return given if int(given[:-1]) else 0
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    raise ValueError('allowed is a number of members, 0 or more, or a percentage such as "25%"')


def _scaled(text: str, units: dict[str, int], allowed: str) -> int:
    numerator, denominator, unit = _number(text.strip(), allowed)
    value, rest = divmod(numerator * _unit(unit, units, allowed), denominator)
    if rest:
        smallest = next(iter(units))
        raise ValueError(f"finer than one {smallest}; the smallest step is 1{smallest}")
    return value


def _number(text: str, allowed: str) -> tuple[int, int, str]:
    """Split a text into an exact fraction and the rest of the text."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not understood; allowed is {allowed}")
    sign, whole, part, unit = match.groups(default="")
    numerator, denominator = int(whole + part), 10 ** len(part)
    if sign and numerator:
        raise ValueError(f"negative; allowed is {allowed}")
    return numerator, denominator, unit.strip()


def _unit(unit: str, units: dict[str, int], allowed: str) -> int:
    if unit in units:
        return units[unit]
    if not unit:
        raise ValueError(f"a unit is missing; allowed is {allowed}")
    meant = MEANT_UNITS.get(unit)
    hint = f'; did you mean "{meant}"?' if meant in units else ""
    raise ValueError(f'unknown unit "{unit}"; allowed is {allowed}{hint}')


# -- back to text ----------------------------------------------------------------------------


def format_duration(us: int) -> str:
    """Return the shortest exact spelling of a time, the inverse of :func:`parse_duration`.

    >>> [format_duration(us) for us in (300_000_000, 250_000, 1_500_000, 90_000_000, 0)]
    ['5min', '250ms', '1.5s', '90s', '0s']
    """
    if us == 0:
        return "0s"
    for unit in ("d", "h", "min", "s", "ms", "us"):
        if us % TIME_UNITS[unit] == 0:
            break
    if unit in ("ms", "us") and us >= US_PER_S:
        return f"{us // US_PER_S}.{us % US_PER_S:06d}".rstrip("0") + "s"
    return f"{us // TIME_UNITS[unit]}{unit}"


def format_rate(rate: float) -> str:
    """Return an exact spelling of records per second.

    >>> [format_rate(rate) for rate in (20.0, 0.05)]
    ['20/s', '0.05/s']
    """
    return f"{_plain(rate)}/s"


def format_number(value: float) -> str:
    """Return a number without needless decimals.

    >>> [format_number(value) for value in (200.0, 0.5)]
    ['200', '0.5']
    """
    return str(int(value)) if value == int(value) else repr(value)


def _plain(value: float) -> str:
    """Return a number exactly and without an exponent."""
    text = format_number(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    digits = mantissa.replace(".", "")
    return "0." + "0" * (-int(exponent) - 1) + digits


def format_size(size: int) -> str:
    """Return the shortest exact spelling of a size in bytes.

    >>> [format_size(size) for size in (1024, 5_000_000, 100)]
    ['1KiB', '5MB', '100B']
    """
    for unit in ("GiB", "MiB", "KiB", "GB", "MB", "kB"):
        if size and size % SIZE_UNITS[unit] == 0:
            return f"{size // SIZE_UNITS[unit]}{unit}"
    return f"{size}B"


def format_byte_rate(rate: int) -> str:
    """Return an exact spelling of bytes per second.

    >>> format_byte_rate(104_857_600)
    '100MiB/s'
    """
    return f"{format_size(rate)}/s"


def format_moment(at_us: int, start: datetime | None = None) -> str:
    """Return the time of an event: clock time if the run has a start, else time since the beginning.

    >>> format_moment(303_250_000)
    '0:05:03.250'
    >>> format_moment(303_250_000, datetime.fromisoformat("2026-05-04T09:00:00Z"))
    '2026-05-04 09:05:03.250'
    """
    if start is not None:
        moment = start + timedelta(microseconds=at_us)
        return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // US_PER_MS:03d}"
    minutes, us = divmod(at_us, US_PER_MIN)
    hours, minutes = divmod(minutes, 60)
    seconds, us = divmod(us, US_PER_S)
    return f"{hours}:{minutes:02d}:{seconds:02d}.{us // US_PER_MS:03d}"


# -- Kafka's settings ------------------------------------------------------------------------


def kafka_units(kind: Kind, value: object) -> int:
    """Return the value of a time or size setting in Kafka's own unit.

    ``6000`` and ``"6s"`` are the same ``session.timeout.ms``. Raise ValueError if a text has
    no unit, or if Kafka's unit is too coarse for it.

    >>> kafka_units(Kind.TIME_MS, "6s"), kafka_units(Kind.MINUTES, "7d")
    (6000, 10080)
    """
    match value:
        case bool():
            pass
        case int():
            return value
        case str():
            return _kafka_text(kind, value)
    raise ValueError(f"wrong type; allowed is {kind.value}")


def _kafka_text(kind: Kind, value: str) -> int:
    if re.fullmatch(r"\s*-?\d+\s*", value):
        example = '"1KiB"' if kind is Kind.BYTES else '"6s"'
        raise ValueError(
            f"a unit is missing; write {value.strip()[:20]} without quotes for Kafka's own unit, "
            f"or a text with a unit such as {example}"
        )
    if kind is Kind.BYTES:
        return parse_size(value)
    us_per_unit, unit = (US_PER_MS, "ms") if kind is Kind.TIME_MS else (US_PER_MIN, "min")
    whole, rest = divmod(parse_duration(value), us_per_unit)
    if rest:
        raise ValueError(f"Kafka counts this in whole {unit}")
    return whole
