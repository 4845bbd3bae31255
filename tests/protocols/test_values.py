"""Frozen values and their copies are those that ``dataclasses`` makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from protocols.consumer.classic.state import Beat, ClientState
from protocols.machine import Step
from protocols.values import dataclass, replace, unrecorded


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (ClientState(), {"offsets_attempt": 3, "poisoned": None}),
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


def test_a_class_that_checks_its_fields_checks_those_of_a_copy():
    """A class with a ``__post_init__`` is copied by its constructor."""

    @dataclasses.dataclass(frozen=True, slots=True)
    class Positive:
        number: int
        name: str = ""

        def __post_init__(self) -> None:
            if self.number < 0:
                raise ValueError(self.number)

    with pytest.raises(ValueError, match="-1"):
        replace(Positive(1), number=-1)


# -- declaring -------------------------------------------------------------------------------------


def declared(make):
    """Return three classes, declared with *make*."""

    @make(frozen=True, slots=True)
    class Pair:
        """Two numbers."""

        first: int
        second: int = 2

    @make(frozen=True, slots=True, kw_only=True)
    class Named:
        default: str = "d"
        name: str
        client: str = unrecorded("")

    @make(frozen=True, slots=True)
    class Nothing:
        """No fields."""

    return Pair, Named, Nothing


QUICK, USUAL = declared(dataclass), declared(dataclasses.dataclass)
CALLS = [(0, (1,), {}), (0, (1, 3), {}), (1, (), {"name": "n"}), (2, (), {})]
CALLS += [(1, (), {"client": "c", "name": "n", "default": "e"})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A value of a module, which can be pickled."""

    number: int
    text: str = ""


@pytest.mark.parametrize(("which", "args", "named"), CALLS)
def test_a_declared_value_is_like_a_frozen_dataclass(which, args, named):
    """Its text, its hash and its fields; and no attributes but these."""
    quick, usual = QUICK[which](*args, **named), USUAL[which](*args, **named)

    assert repr(usual) == repr(quick)
    assert hash(usual) == hash(quick)
    assert dataclasses.asdict(usual) == dataclasses.asdict(quick)
    assert type(usual).__match_args__ == type(quick).__match_args__
    assert type(usual).__slots__ == type(quick).__slots__
    assert quick == QUICK[which](*args, **named) == copy.copy(quick)
    assert quick != usual
    assert [each.metadata for each in dataclasses.fields(usual)] == [
        each.metadata for each in dataclasses.fields(quick)
    ]


@pytest.mark.parametrize(
    ("which", "args", "named"), [(0, (), {}), (0, (1, 2, 3), {}), (1, ("n",), {}), (1, (), {})]
)
def test_wrong_arguments_are_refused(which, args, named):
    """As by any constructor."""
    for kinds in (QUICK, USUAL):
        with pytest.raises(TypeError, match="argument"):
            kinds[which](*args, **named)


def test_a_declared_value_cannot_be_changed():
    """Neither its fields nor others."""
    pair = QUICK[0](1)

    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'first'"):
        pair.first = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.third = 3
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'first'"):
        del pair.first
    assert (1, 2) == (pair.first, pair.second)
    assert QUICK[0](1, 5) == dataclasses.replace(pair, second=5) == replace(pair, second=5)
    assert pair != QUICK[0](2)
    assert pair != (1, 2)


def test_a_declared_value_can_be_pickled():
    """Runs of other processes return some."""
    stored = Stored(number=3, text="x")

    assert stored == pickle.loads(pickle.dumps(stored))


def test_other_classes_are_made_as_usual():
    """With factories, methods of their own, or other options."""

    @dataclass(slots=True)
    class Open:
        items: list = dataclasses.field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Checked:
        number: int

        def __post_init__(self):
            assert self.number > 0

    one = Open()
    one.items.append(1)

    assert [] == Open().items
    with pytest.raises(AssertionError):
        Checked(0)
