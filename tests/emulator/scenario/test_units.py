"""Text becomes numbers, and numbers the same text again."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.scenario.units import (
    FASTEST,
    LONGEST_US,
    SLOWEST,
    format_byte_rate,
    format_duration,
    format_moment,
    format_rate,
    format_size,
    kafka_units,
    parse_byte_rate,
    parse_duration,
    parse_rate,
    parse_size,
)
from protocols.settings import Kind


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("45s", 45_000_000),
        ("250ms", 250_000),
        ("300us", 300),
        ("10min", 600_000_000),
        ("2h", 7_200_000_000),
        ("7d", 604_800_000_000),
        ("1.5s", 1_500_000),
        (" 3 s ", 3_000_000),
        ("0s", 0),
        ("-0s", 0),
        ("2h10min", 7_800_000_000),
        (" 1d 2h 30 s ", 93_630_000_000),
    ],
)
def test_a_time_is_read_with_its_unit(text, us):
    """Every unit of time is read exactly."""
    assert us == parse_duration(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("45", "a unit is missing"),
        ("", "not understood"),
        ("s", "not understood"),
        ("-5s", "negative"),
        ("5m", 'did you mean "min"'),
        ("5 parsecs", 'unknown unit "parsecs"'),
        ("0.5us", "finer than one us"),
        ("36501d", "too long"),
        ("36500d 1s", "too long"),
        ("30s1min", 'such as "45s" or "1h30min"'),
        ("5min5min", "not understood"),
        ("2h10", "not understood"),
        ("9" * 5000 + "s", "not understood"),
        ("1e3s", "not understood"),
        ("1s 2s", "not understood"),
        ("٣s", "not understood"),
    ],
)
def test_a_wrong_time_is_refused_with_the_reason(text, said):
    """It never raises anything else."""
    with pytest.raises(ValueError, match=said):
        parse_duration(text)


@given(st.integers(0, LONGEST_US))
def test_every_time_can_be_written_and_read_again(us):
    """Formatting a time is the inverse of reading it."""
    assert us == parse_duration(format_duration(us))


@given(st.just(0.0) | st.floats(SLOWEST, FASTEST))
def test_every_rate_can_be_written_and_read_again(rate):
    """Formatting a rate is the inverse of reading it."""
    assert rate == parse_rate(format_rate(rate))


@given(st.integers(0, 2**63 - 1))
def test_every_size_can_be_written_and_read_again(size):
    """Formatting a size is the inverse of reading it."""
    assert size == parse_size(format_size(size))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("20", "a unit is missing"),
        ("20/x", "unknown unit"),
        ("x/s", "not understood"),
        ("1s/s", "not a rate"),
        ("4ms", "not a rate"),
        ("9999999999/s", "too fast"),
        ("0.00002/d", "too slow"),
        ("-1/s", "negative"),
    ],
)
def test_a_wrong_rate_is_refused_with_the_reason(text, said):
    """In one line."""
    with pytest.raises(ValueError, match=said):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100", "a unit is missing"),
        ("1.5B", "finer than one B"),
        ("1kb", 'mean "KiB"'),
        ("99999999999999GB", "too large"),
    ],
)
def test_a_wrong_size_is_refused_with_the_reason(text, said):
    """In one line."""
    with pytest.raises(ValueError, match=said):
        parse_size(text)


@given(st.integers(1, 2**63 - 1))
def test_every_speed_can_be_written_and_read_again(rate):
    """Formatting bytes a second is the inverse of reading them."""
    assert rate == parse_byte_rate(format_byte_rate(rate))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100MiB", "a unit of time is missing"),
        ("100/s", "a unit is missing"),
        ("100MiB/x", "unknown unit"),
        ("1B/min", "whole number of bytes a second"),
        ("0B/s", "at least 1B/s"),
        ("-1B/s", "negative"),
    ],
)
def test_a_wrong_speed_is_refused_with_the_reason(text, said):
    """In one line."""
    with pytest.raises(ValueError, match=said):
        parse_byte_rate(text)


@pytest.mark.parametrize(
    ("kind", "given", "kafkas"),
    [
        (Kind.TIME_MS, 6000, 6000),
        (Kind.TIME_MS, "6s", 6000),
        (Kind.MINUTES, "7d", 10_080),
        (Kind.BYTES, "1MiB", 1_048_576),
        (Kind.TIME_MS, -1, -1),
    ],
)
def test_a_setting_takes_kafkas_unit_or_its_own(kind, given, kafkas):
    """An integer has Kafka's unit, a text its own."""
    assert kafkas == kafka_units(kind, given)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (Kind.TIME_MS, "6000", "write 6000 without quotes"),
        (Kind.TIME_MS, "300us", "whole ms"),
        (Kind.MINUTES, "90s", "whole min"),
        (Kind.TIME_MS, True, "wrong type"),
        (Kind.BYTES, 1.5, "wrong type"),
    ],
)
def test_a_setting_in_no_unit_is_refused(kind, given, said):
    """Text without a unit, or finer than Kafka counts, is refused."""
    with pytest.raises(ValueError, match=said):
        kafka_units(kind, given)


def test_a_moment_is_clock_time_when_the_run_has_a_start():
    """With a start, times are clock times; else time since the start."""
    start = datetime.fromisoformat("2026-05-04T23:59:00Z")

    assert "2026-05-05 00:00:00.250" == format_moment(60_250_000, start)
    assert "1:01:00.000" == format_moment(3_660_000_000)
