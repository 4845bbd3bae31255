"""Everything a file can say can be built in Python."""

from __future__ import annotations

import pytest

from emulator.scenario.load import check
from emulator.scenario.model import (
    Bound,
    Close,
    Constant,
    Crash,
    Group,
    Member,
    Pause,
    Scenario,
    Topic,
)
from emulator.scenario.problems import ScenarioError

from .samples import read


def built(*faults: object) -> Scenario:
    """Build the smallest scenario in Python."""
    return Scenario(
        title="one of three crashes",
        run_for=600_000_000,
        topic=(Topic(name="orders", partitions=6, rate=20.0),),
        group=(
            Group(
                id="billing",
                topics=("orders",),
                members=tuple(Member(name=f"billing-{number}") for number in range(3)),
                work=Constant(constant=10_000),
                settings={"partition.assignment.strategy": "range", "session.timeout.ms": 6000},
            ),
        ),
        fault=faults,
        expect={
            "lost": Bound(relation="==", value=0),
            "reprocessed": Bound(relation="<=", value=200),
        },
    )


def test_a_built_scenario_equals_the_one_that_is_read():
    """Times are microseconds in Python, and faults get their ids as in a file."""
    assert read() == built(Crash(member="billing-1", at=300_000_000))


def test_a_built_scenario_is_checked_on_demand():
    """The checks of files hold for built scenarios too."""
    check(built())
    with pytest.raises(ScenarioError, match="no such member"):
        check(built(Close(member="billing-9", at=0)))


def test_keys_that_are_words_of_python_have_other_names():
    """``for`` is ``lasting`` in Python."""
    assert 5 == Pause(member="billing-1", at=0, lasting=5).lasting


@pytest.mark.parametrize("us", [-1, 1.5, 2**63, True])
def test_times_out_of_range_are_refused_in_python_too(us):
    """A time is whole microseconds, not negative, at most a hundred years."""
    with pytest.raises(ScenarioError):
        Constant(constant=us)


def test_values_are_frozen():
    """A scenario cannot be changed once it is made."""
    with pytest.raises(
        ScenarioError, match=r'title = "another": cannot be changed.*emulator\.load'
    ):
        built().title = "another"
    with pytest.raises(ScenarioError, match="immutable"):
        del built().topic[0].name
