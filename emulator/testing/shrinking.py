"""Search the smallest scenario that still fails, with Hypothesis, within a time limit.

A scenario is reduced by levels: each fault, setting and optional key is there or not; topics have
fewer partitions and groups fewer members; the run is shorter; the seed is smaller.

Members and partitions come first, and the smallest numbers of them: such runs are the cheapest, and make
all that are played after them cheap. They are reduced together, so that a member has as much to do as
before, and then each for itself. Hypothesis is given the levels that were found and shrinks the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from assignors.values import dataclass
from emulator.errors import EmulatorError
from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.model import Scenario
from emulator.scenario.part import Document, ScenarioSource
from emulator.scenario.toml import document_to_toml
from emulator.scenario.units import format_duration
from emulator.scenario.writing import dump

LENGTHS = 16
"""The levels of ``run_for``: sixteenths of its length."""

SMALL_SEEDS = 4
"""Seeds below this number are tried instead of the failing one."""

KEPT = frozenset({"title", "run_for", "topic", "group", "fault", "cluster", "network", "expect"})
"""The keys of a scenario that are not removed as a whole."""

NEEDED = frozenset({"id", "name", "topics", "member", "partitions", "settings", "rate"})
"""The keys of topics, groups and members that are not removed as a whole."""

QUIET = settings(
    deadline=None,
    derandomize=False,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
)

Fails = Callable[[Scenario, int], bool]
"""Whether a scenario fails as the test did, under a seed."""


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest scenario that was found."""

    text: str
    """Its file."""

    seed: int
    tried: int
    """The number of scenarios that were tried to find it."""

    complete: bool
    """Whether the search ended before the time limit."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One way to make a scenario smaller: 0 is the smallest level, *levels* changes nothing."""

    levels: int
    apply: Callable[[Document, int], None]
    """Change a document to a lower level."""

    is_number: bool = False
    """Whether it lowers the number of members or partitions."""


@dataclass(slots=True)
class Search:
    """Plays reduced scenarios until the time is up."""

    document: Document
    seed: int
    fails: Fails
    folder: Path
    until_s: float
    reductions: Sequence[Reduction]
    known: dict[str, bool] = field(default_factory=dict)
    """Whether a file fails; different levels may have the same one."""

    @property
    def whole(self) -> tuple[int, ...]:
        """The levels of the whole scenario."""
        return (*(each.levels for each in self.reductions), min(self.seed, SMALL_SEEDS))

    @property
    def late(self) -> bool:
        """Whether the time limit is reached."""
        return monotonic() >= self.until_s

    def still_fails(self, levels: tuple[int, ...]) -> bool:
        """Return whether the scenario at some levels fails; after the time limit, nothing does."""
        if levels == self.whole:
            return True
        document, seed = self.at(levels)
        text = document_to_toml({**document, "seed": seed})
        if text not in self.known and self.late:
            return False
        if text not in self.known:
            self.known[text] = self._fails(document, seed)
        return self.known[text]

    def _fails(self, document: Document, seed: int) -> bool:
        try:
            source = ScenarioSource("reduced", self.folder)
            return self.fails(scenario_of(tidy(deepcopy(document)), source), seed)
        except EmulatorError:
            return False  # it contradicts itself, or an assignor fails

    def at(self, levels: tuple[int, ...]) -> tuple[Document, int]:
        """Return the document and the seed at some levels."""
        document = deepcopy(self.document)
        *rest, seed = levels
        for reduction, level in zip(self.reductions, rest, strict=True):
            if level < reduction.levels:
                reduction.apply(document, level)
        return _tidied(document), seed if seed < SMALL_SEEDS else self.seed


def smallest(
    scenario: Scenario,
    seed: int,
    fails: Fails,
    *,
    folder: Path,
    limit_s: float,
    expect: Mapping[str, str],
) -> Smallest:
    """Return the smallest scenario found within *limit_s* seconds that fails as the test did.

    *fails* holds for *scenario* under *seed*. *folder*: of the user's own assignors. *expect*: the
    bounds to write into the file, in place of those of the scenario.
    """
    document = {key: value for key, value in dump(scenario).items() if key in KEPT}
    document.pop("expect", None)
    if expect:
        document["expect"] = dict(expect)
    reductions = list(_reductions(document, scenario.run_for))
    search = Search(document, seed, fails, folder, monotonic() + limit_s, reductions)
    found = _shrunk(search, _fewest(search))
    reduced, its_seed = search.at(found)
    if its_seed:
        reduced = {**reduced, "seed": its_seed}
    return Smallest(document_to_toml(reduced), its_seed, len(search.known), not search.late)


def _fewest(search: Search) -> tuple[int, ...]:
    """Return levels that fail with as few members and partitions as possible, and all else as it is."""
    levels = search.whole
    for place, each in enumerate(search.reductions):
        if each.is_number:
            for level in _ascending(each.levels):
                lower = (*levels[:place], level, *levels[place + 1 :])
                if search.still_fails(lower):
                    levels = lower
                    break
    return levels


def _ascending(levels: int) -> Iterator[int]:
    """Yield levels from the smallest on, ever fewer of the larger ones.

    >>> list(_ascending(30))
    [0, 1, 2, 3, 5, 8, 12, 18, 27]
    """
    level = 0
    while level < levels:
        yield level
        level = max(level + 1, level * 3 // 2 + level % 2)


def _shrunk(search: Search, levels: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lowest levels that fail, from those given down.

    Hypothesis shrinks what it finds in its database. The levels of the whole scenario are put there
    by a search that has no other choice; the choice that is drawn last, and not used, makes
    Hypothesis shrink a value that it takes from the database.
    """
    database = InMemoryExampleDatabase()
    whole = st.tuples(*(st.integers(level, level) for level in levels))
    lower = st.tuples(st.tuples(*(st.integers(0, level) for level in levels)), st.booleans())
    seeded = settings(QUIET, database=database, phases=(Phase.generate,))
    find(whole, lambda _: True, settings=seeded, database_key=b"levels")
    shrinking = settings(QUIET, database=database, phases=(Phase.reuse, Phase.shrink))
    found: tuple[tuple[int, ...], bool] = find(
        lower,
        lambda drawn: search.still_fails(drawn[0]),
        settings=shrinking,
        database_key=b"levels",
    )
    return found[0]


# -- the ways to reduce a scenario -------------------------------------------------------------


def _reductions(document: Document, run_for_us: int) -> Iterator[Reduction]:
    """Yield the reductions of a document; those that save most come first."""
    most = max(len(group["member"]) for group in document["group"])
    yield Reduction(most - 1, _scaled(most), is_number=True)
    yield Reduction(LENGTHS - 1, _shorter(run_for_us))
    for kind in ("fault", "group", "topic"):
        for place in range(len(document.get(kind, ()))):
            yield _without((kind, place))
    for place, group in enumerate(document["group"]):
        yield _fewer(("group", place, "member"), len(group["member"]))
    for place, topic in enumerate(document["topic"]):
        if topic.get("partitions", 1) > 1:
            yield _fewer(("topic", place, "partitions"), topic["partitions"])
    for path in _optional(document):
        yield _without(path)


Place = tuple[str | int, ...]
"""The keys and places that lead to a value."""


def _optional(document: Document) -> Iterator[Place]:
    """Yield the paths of keys that a file can leave out."""
    for table in ("cluster", "network"):
        yield from ((table, key) for key in document.get(table, {}) if key != "settings")
        yield from _settings((table,), document.get(table, {}))
    for kind in ("topic", "group"):
        for place, table in enumerate(document[kind]):
            yield from _keys((kind, place), table)
            for number, member in enumerate(table.get("member", ())):
                yield from _keys((kind, place, "member", number), member)


def _keys(path: Place, table: Document) -> Iterator[Place]:
    yield from ((*path, key) for key in table if key not in NEEDED)
    yield from _settings(path, table)


def _settings(path: Place, table: Document) -> Iterator[Place]:
    yield from ((*path, "settings", name) for name in table.get("settings", {}))


def _shorter(run_for_us: int) -> Callable[[Document, int], None]:
    def apply(document: Document, level: int) -> None:
        second = 1_000_000
        length = max(run_for_us * (level + 1) // LENGTHS // second * second, second)
        document["run_for"] = format_duration(min(length, run_for_us))

    return apply


def _without(path: Place) -> Reduction:
    """Return the reduction that removes a value."""

    def apply(document: Document, _: int) -> None:
        table = _at(document, path[:-1])
        if isinstance(table, list):
            table[int(path[-1])] = None
        elif table is not None:
            table.pop(path[-1], None)

    return Reduction(1, apply)


def _scaled(most: int) -> Callable[[Document, int], None]:
    """Return the change that lowers members and partitions together, of a largest group of *most* members."""

    def apply(document: Document, level: int) -> None:
        for group in document["group"]:
            _keep_members(document, group, ceil(len(group["member"]) * (level + 1) / most))
        for topic in document["topic"]:
            topic["partitions"] = ceil(topic.get("partitions", 1) * (level + 1) / most)

    return apply


def _fewer(path: Place, count: int) -> Reduction:
    """Return the reduction that lowers the number of partitions, or of members."""

    def apply(document: Document, level: int) -> None:
        table = _at(document, path[:-1])
        if table is None:
            return
        if path[-1] == "member":
            _keep_members(document, table, level + 1)
        else:
            table[path[-1]] = min(table[path[-1]], level + 1)

    return Reduction(count - 1, apply, is_number=True)


def _keep_members(document: Document, group: Document, count: int) -> None:
    """Keep the first members of a group; faults of the others happen to the last one that is kept."""
    kept, gone = group["member"][:count], group["member"][count:]
    group["member"] = kept
    others = {member["name"]: kept[-1]["name"] for member in gone}
    for fault in filter(None, document.get("fault", ())):
        for key, value in fault.items():
            if isinstance(value, str):
                fault[key] = others.get(value, value)
            elif isinstance(value, list):
                names = (
                    others.get(each, each) if isinstance(each, str) else each for each in value
                )
                fault[key] = (
                    list(dict.fromkeys(names)) if others.keys() & {*map(str, value)} else value
                )


def _at(document: Document, path: Place) -> Any:
    """Return the value at a path; None if a part of it has been removed."""
    node: Any = document
    for key in path:
        inside = node is not None and (
            key in node if isinstance(node, dict) else isinstance(key, int) and key < len(node)
        )
        node = node[key] if inside else None
    return node


def _tidied(document: Document) -> Document:
    """Return a document without removed and empty tables, with the number of members if it can."""
    tidied: Document = {}
    for key, value in document.items():
        kept = [each for each in value if each is not None] if isinstance(value, list) else value
        if kept not in ([], {}):
            tidied[key] = kept
    for table in tidied.get("group", ()):
        names = [member["name"] for member in table["member"]]
        plain = all(len(member) == 1 for member in table["member"])
        if plain and names == [f"{table['id']}-{number}" for number in range(len(names))]:
            del table["member"]
            table["members"] = len(names)
    for table in [*tidied.get("group", ()), *tidied.get("topic", ())]:
        if not table.get("settings", True):
            del table["settings"]
    return tidied
