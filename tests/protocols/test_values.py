"""Copies of frozen values are those that ``dataclasses`` makes."""

from __future__ import annotations

import dataclasses

import pytest

from protocols.consumer.classic.state import Beat, ClientState
from protocols.machine import Step
from protocols.values import (
    needed_fields,
    optional_fields,
    recorded,
    recorded_if_set,
    replace,
    set_values,
    unrecorded,
)


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (ClientState(), {"offsets_attempt": 3, "commit_fenced": None}),
        (ClientState(), {}),
        (Beat(phase_us=1, due_us=2, session_us=3), {"due_us": 9}),
        (Step(1, ()), {"state": 2}),
    ],
)
def test_a_copy_has_the_changed_fields_and_all_others(value, changes):
    """The copy is equal to the one that the constructor makes, and frozen as it is."""
    copy = replace(value, **changes)

    assert copy == dataclasses.replace(value, **changes)
    assert copy is not value
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(copy, dataclasses.fields(copy)[0].name, None)


def test_a_field_that_the_class_does_not_have_is_refused():
    """A wrong name says which, and of which class."""
    with pytest.raises(TypeError, match="Beat has no field 'phase'"):
        replace(Beat(phase_us=1, due_us=2, session_us=3), phase=1)


@pytest.mark.parametrize("slots", [True, False])
def test_a_class_that_checks_its_fields_checks_those_of_a_copy(slots):
    """A class with a ``__post_init__`` is copied by its constructor."""

    @dataclasses.dataclass(frozen=True, slots=slots)
    class Positive:
        number: int
        name: str = ""

        def __post_init__(self) -> None:
            if self.number < 0:
                raise ValueError(self.number)

    with pytest.raises(ValueError, match="-1"):
        replace(Positive(1), number=-1)


def test_a_digest_covers_an_optional_field_only_where_it_is_set():
    """Others have a value in every record, but for those that no event has."""

    @dataclasses.dataclass(frozen=True)
    class Joined:
        member: str = "m"
        broker: int = recorded_if_set(-1)
        client: str = unrecorded("")

    assert {"broker": -1} == optional_fields(Joined)
    assert ("member",) == needed_fields(Joined)
    assert [{}, {"broker": 0}] == [set_values(each) for each in (Joined(), Joined(broker=0))]


def test_an_event_keeps_what_is_recorded_of_a_fact_and_no_more():
    """The other fields get their defaults; the host names those that it fills in."""

    @dataclasses.dataclass(frozen=True)
    class Joined:
        member: str
        group: str = ""
        client: str = unrecorded("")

    assert Joined("m", "g") == recorded(Joined("m", client="c"), group="g")
