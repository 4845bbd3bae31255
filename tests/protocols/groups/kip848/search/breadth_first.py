"""Breadth-first search over the states of a world: each is checked against the laws.

The way to a state is kept as the state before it, so that the shortest way to a fault can be
described. At the end the graph is walked backwards from where all is settled: from every state
there has to be a way there without another fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from .parties import by_name
from .world import Act, World

Ways = list[tuple[int, Act]]
"""By state: the state before it, and what happened."""


class Found(NamedTuple):
    """The result of a search."""

    states: int
    acts: int
    settled: int
    fault: str | None = None
    """What went wrong, and the shortest way there, in words."""


def search(world: World) -> Found:
    """Go through all states that can be reached, or up to the first that breaks a law."""
    numbers = {world.first: 0}
    ways: Ways = [(0, Act("", ""))]
    before: list[list[int]] = [[]]
    goals: list[int] = []
    waiting = deque([world.first])
    acts = 0
    while waiting:
        whole = waiting.popleft()
        here = numbers[whole]
        if world.is_settled(whole):
            goals.append(here)
        for act, after in world.after(whole):
            acts += 1
            there = numbers.get(after)
            if there is None:
                there = numbers[after] = len(ways)
                ways.append((here, act))
                before.append([])
                waiting.append(after)
                wrong = world.wrong(whole, after)
                if wrong is not None:
                    return Found(len(ways), acts, len(goals), describe(world, ways, there, wrong))
            if after.perturbations == whole.perturbations:
                before[there].append(here)
    stuck = _stuck(before, goals)
    wrong = "from here no way leads to where all is settled"
    fault = None if stuck is None else describe(world, ways, stuck, wrong)
    return Found(len(ways), acts, len(goals), fault)


def _stuck(before: list[list[int]], goals: list[int]) -> int | None:
    """Return the first state from which no goal can be reached, or None."""
    reached = bytearray(len(before))
    waiting = deque(goals)
    for goal in goals:
        reached[goal] = 1
    while waiting:
        for each in before[waiting.popleft()]:
            if not reached[each]:
                reached[each] = 1
                waiting.append(each)
    place = reached.find(0)
    return None if place < 0 else place


# -- in words ----------------------------------------------------------------------------------


def describe(world: World, ways: Ways, end: int, wrong: str) -> str:
    """Return the way to a state, step by step, and the fault there."""
    acts = []
    while end:
        end, act = ways[end]
        acts.append(act)
    lines = [f"{step}. {_in_words(world, act)}" for step, act in enumerate(reversed(acts), 1)]
    return "\n".join([*lines, wrong])


def _in_words(world: World, act: Act) -> str:
    match act.what:
        case int() as number:
            words = f"{act.who} hears {_kind(world.messages[number])}"
        case ("timer", name):
            words = f"{act.who}'s timer {name} runs out"
        case _:
            words = f"{act.who} {act.what}"
    sends = [_kind(world.messages[number]) for number in act.sent]
    if sends:
        words += f", and sends {', '.join(sends)}"
    return f"{words}, which is lost with its connection" if act.is_lost else words


def _kind(message: Any) -> str:
    """Return a message in few words."""
    name = type(message).__name__.removesuffix("Request").removesuffix("Response")
    return " ".join([name, *_said(message)])


def _said(message: Any) -> Iterator[str]:
    error = getattr(message, "error", None)
    if error:
        yield error.name
    for field in ("member_epoch", "generation_id"):
        if hasattr(message, field):
            yield f"at epoch {getattr(message, field)}"
    for field, word in (("topic_partitions", "owning"), ("assignment", "to own")):
        listed = getattr(message, field, None)
        if listed is not None:
            yield f"{word} {', '.join(_named(listed)) or 'nothing'}"


def _named(listed: Any) -> list[str]:
    return sorted(str(tp) for tp in by_name(listed))
