"""Kafka's settings by name: kinds, defaults, and the one value with a grammar of its own."""

from __future__ import annotations

import dataclasses

import pytest

from protocols.settings import (
    LEFT_OUT,
    BrokerSettings,
    ConsumerSettings,
    Kind,
    Setting,
    by_duration_ms,
    defaults_of,
    fields_by_name,
    settings_of,
)
from protocols.settings.kinds import declared


def test_only_declared_settings_have_defaults():
    """Other fields of the class are no settings, and a setting may have to be given."""
    named = Setting("max.size", Kind.COUNT, "A size.")

    @dataclasses.dataclass
    class Some:
        given: int = dataclasses.field(metadata={"setting": named})
        size: int = declared(5, Setting("size", Kind.COUNT, "A size."))
        other: int = 7

    assert {"size": 5} == defaults_of(Some)


@pytest.mark.parametrize("kind", [ConsumerSettings, BrokerSettings])
def test_every_setting_has_a_name_a_meaning_and_a_default_in_bounds(kind):
    """Names are Kafka's, and defaults are among what is allowed."""
    defaults = defaults_of(kind)
    for field, setting in settings_of(kind).items():
        default = defaults[setting.name]

        assert field == setting.name.replace(".", "_")
        assert setting.meaning.endswith(".") or setting.meaning.endswith("…")
        if type(default) is int:
            assert setting.minimum <= default <= setting.maximum


def test_no_setting_is_both_modelled_and_left_out():
    """A name is known in one way."""
    known = {*fields_by_name(ConsumerSettings), *fields_by_name(BrokerSettings)}

    assert set() == known & LEFT_OUT


@pytest.mark.parametrize(
    ("policy", "ms"),
    [
        ("by_duration:P7D", 604_800_000),
        ("by_duration:PT1H30M", 5_400_000),
        ("by_duration:pt0.25s", 250),
        ("by_duration:PT1H-30M", 1_800_000),
        ("by_duration:-PT-1S", 1_000),
        ("by_duration:PT0S", 0),
        ("earliest", None),
    ],
)
def test_by_duration_is_read_as_java_reads_it(policy, ms):
    """Days, hours, minutes and seconds, each with its own sign, either case."""
    assert ms == by_duration_ms(policy)


def test_a_duration_has_a_hundred_characters_at_most():
    """Leading zeros are digits like others."""
    assert 1_000 == by_duration_ms(f"by_duration:PT{'1':0>97}S")
    with pytest.raises(ValueError, match="duration"):
        by_duration_ms(f"by_duration:PT{'1':0>98}S")


@pytest.mark.parametrize(
    "duration", ["", "P", "PT", "1H", "P1H", "PT1D", "P1Y", "-PT1H", "PT1.5H", f"PT{'9' * 99}S"]
)
def test_other_durations_are_refused(duration):
    """Those that Java refuses, and negative ones."""
    with pytest.raises(ValueError, match="duration"):
        by_duration_ms(f"by_duration:{duration}")
