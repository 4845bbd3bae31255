"""Declared classes of values are those that ``dataclasses`` makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Generic, TypeVar

import pytest

from assignors.values import dataclass
from protocols.values import replace, unrecorded

T = TypeVar("T")


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


# -- mutable values, factories, methods of their own ----------------------------------------------


def declared_with_more(make):
    """Return classes with what most classes of values do not have, declared with *make*."""

    @make(slots=True)
    class Open:
        items: list = dataclasses.field(default_factory=list)
        name: str = "n"

    @make(slots=True, eq=False)
    class ByIdentity:
        number: int

    @make(frozen=True, slots=True)
    class Checked:
        number: int
        cost: int = dataclasses.field(default=0, compare=False, repr=False)

        def __post_init__(self):
            assert self.number > 0

    @make(frozen=True, slots=True, repr=False)
    class Spelled(Generic[T]):
        value: T

        def __repr__(self):
            return "spelled"

        def __hash__(self):
            return 7

    return Open, ByIdentity, Checked, Spelled


MORE = list(
    zip(
        declared_with_more(dataclass),
        declared_with_more(dataclasses.dataclass),
        [([1],), (1,), (1, 5), ("x",)],
        strict=True,
    )
)


@pytest.mark.parametrize(("quick", "usual", "args"), MORE)
def test_a_class_with_more_is_like_a_dataclass(quick, usual, args):
    """Its text, its hash or that it has none, and to which values it is equal."""
    one, other = quick(*args), usual(*args)

    assert repr(other).partition(" object at")[0] == repr(one).partition(" object at")[0]
    assert usual.__slots__ == quick.__slots__
    assert (usual.__hash__ is None) == (quick.__hash__ is None)
    assert (other == usual(*args)) == (one == quick(*args))
    assert (other == usual(*args[:-1], 8)) == (one == quick(*args[:-1], 8))
    with pytest.raises(TypeError, match=rf"{quick.__name__}.__init__\(\) .*argument"):
        quick(1, 2, 3)


def test_a_factory_is_called_for_each_value_that_is_not_given():
    """No two values share a list; a value that is checked is checked each time."""
    open_class, _, checked, spelled = declared_with_more(dataclass)
    one = open_class()
    one.items.append(1)

    assert [] == open_class().items
    assert [3] == open_class(name="m", items=[3]).items
    for _ in range(2):
        with pytest.raises(AssertionError):
            checked(0)
    assert checked(1, 5) == checked(1, 6)
    assert hash(checked(1, 5)) == hash(checked(1, 6))
    assert hash(spelled("x")) == 7


def test_other_classes_are_made_as_usual():
    """With a base, a field that is no argument, an order, or without slots."""

    @dataclass(slots=True)
    class Base:
        first: int = 1

    @dataclass(slots=True)
    class Derived(Base):
        second: int = 2

    @dataclass(slots=True)
    class Counting:
        count: int = dataclasses.field(default=0, init=False)

    @dataclass(frozen=True, order=True)
    class Ordered:
        first: int

    assert repr(Derived(3, 4)).endswith("Derived(first=3, second=4)")
    assert Counting().count == 0
    assert Ordered(1) < Ordered(2)
    assert dataclass(type("Plain", (), {"__annotations__": {"a": int}}))(3).a == 3
