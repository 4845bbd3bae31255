"""An assignor of the user's own that fails ends the run with a word to the user, and nothing else."""

from __future__ import annotations

import gc
import sys
from itertools import count

import pytest

import emulator
from assignors.errors import AssignorError
from assignors.own_code import allow_plugins

from ..stage import TEXT

NUMBERS = count()

SOURCE = """
from assignors.types import FunctionAssignor
from assignors.types import TopicPartition

ALL = tuple(TopicPartition("t", number) for number in range(6))


def made(assign):
    return lambda: FunctionAssignor("mine", assign)


def raising(topics, subscriptions):
    raise RuntimeError("out of ideas")


def later(topics, subscriptions):
    if len(subscriptions) == 2:
        raise ValueError("two is not enough")
    return dict(zip(sorted(subscriptions), (ALL[:2], ALL[2:4], ALL[4:])))


fails, fails_later = made(raising), made(later)
stranger = made(lambda topics, subscriptions: {"nobody": ALL})
nonsense = made(lambda topics, subscriptions: 7)
"""
CRASH = '[[fault]]\ncrash = "g-1"\nat = "8s"\n'


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make the assignors importable; return the module's name."""
    name = f"plans_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    allow_plugins(name)
    yield name
    sys.modules.pop(name, None)


def played(assignor, more=""):
    text = TEXT.format(
        run="",
        topic="partitions = 6",
        group="",
        settings="",
        strategy=assignor,
        run_for="30s",
        more=more,
    )
    return emulator.run(emulator.loads(text), 0)


@pytest.mark.parametrize(
    ("assignor", "more", "said"),
    [
        ("fails", "", "out of ideas"),
        ("fails_later", CRASH, "two is not enough"),
        ("stranger", "", "nobody"),
        ("nonsense", "", "int"),
    ],
)
def test_the_message_names_the_assignor_and_what_it_did(module, assignor, more, said):
    """Which one it is, and the reason in its own words."""
    with pytest.raises(AssignorError) as failed:
        played(f"{module}:{assignor}", more)

    assert f"{module}:{assignor}" in str(failed.value) or "mine" in str(failed.value)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


def test_an_assignor_that_fails_later_plays_until_then(module):
    """Three members are fine; the same scenario without the crash runs to its end."""
    assert 1 == played(f"{module}:fails_later").metrics["generations"]


@pytest.mark.parametrize("assignor", ["fails_later", "fails"])
def test_garbage_is_collected_as_before_after_any_run(module, assignor):
    """A run makes Python look for it seldom; afterwards, failed or not, all is as it was."""
    before = gc.get_threshold()
    gc.set_threshold(321, 9, 11)
    try:
        if assignor == "fails":
            with pytest.raises(AssignorError):
                played(f"{module}:{assignor}")
        else:
            played(f"{module}:{assignor}")

        assert (321, 9, 11) == gc.get_threshold()
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)


def test_a_listener_that_raises_ends_the_run_and_restores_everything(module):
    """A sink's exception is its owner's; the next run is not disturbed by it."""
    before = gc.get_threshold()
    scenario = emulator.loads(
        'title = "t"\nrun_for = "9s"\n[[topic]]\nname = "t"\n'
        '[[group]]\nid = "g"\ntopics = ["t"]\nmembers = 1\n'
    )

    def deaf(event):
        if event.id == 5:
            raise RuntimeError("I have heard enough")

    first = emulator.run(scenario, 0).digest
    with pytest.raises(RuntimeError, match="heard enough"):
        emulator.run(scenario, 0, sink=deaf)

    assert before == gc.get_threshold()
    assert first == emulator.run(scenario, 0).digest
