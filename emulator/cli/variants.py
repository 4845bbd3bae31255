"""The settings that ``rebalance compare`` holds against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.errors import RefusedError

if TYPE_CHECKING:
    from emulator.scenario.model import Scenario

INSTANCE_ID = "group.instance.id"
STRATEGY = "partition.assignment.strategy"
PROTOCOL = "group.protocol"
AS_WRITTEN = "as-written"


@dataclass(frozen=True, slots=True)
class Variant:
    """One column: a name, and the overrides that make it."""

    name: str
    overrides: tuple[str, ...]


def read_variants(texts: Sequence[str], scenario: Scenario) -> list[Variant]:
    """Return the variants that ``--with`` names, else those of the scenario, else the usual ones.

    One alone is held against the scenario as it is written, so there are two at least. Raise
    RefusedError if one cannot be read, or if two have one name.
    """
    if texts or not scenario.variant:
        variants = [_read(text, scenario) for text in texts or USUAL]
    else:
        variants = [Variant(each.name, each.changes) for each in scenario.variant]
    if len(variants) == 1:
        variants.insert(0, Variant(AS_WRITTEN, ()))
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1:
            raise RefusedError(f"--with: two columns are called {name!r}; give each its own name")
    return variants


def _read(text: str, scenario: Scenario) -> Variant:
    """Read ``eager``, ``name: path=value, …`` or ``name: eager, path=value``."""
    name, colon, rest = _cut(text, ":")
    parts = split_list(rest) if colon else [text.strip()]
    if not parts or (colon and not name.strip()):
        raise RefusedError(f"--with {text!r}: a name stands before the colon, and keys after it")
    overrides: list[str] = []
    for part in parts:
        if "=" in part:
            overrides.append(part)
        elif part in NAMED:
            overrides += NAMED[part](scenario)
        else:
            raise RefusedError(
                f"--with {text!r}: {part!r} is neither one of {', '.join(NAMED)} nor path=value; "
                'write --with eager, or --with "short: group[billing].settings[…]=10s, eager"'
            )
    return Variant(name.strip() or text.strip(), tuple(overrides))


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """Cut at the first mark that stands before any ``=`` or bracket: it ends the name."""
    name, found, rest = text.partition(mark)
    if any(letter in name for letter in "=[\"'"):
        return text, "", ""
    return name, found, rest


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets and quotes.

    >>> split_list('a=[1, 2], b="x, y",c=3')
    ['a=[1, 2]', 'b="x, y"', 'c=3']
    """
    parts, depth, quoted = [""], 0, ""
    for letter in text:
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "\"'":
            quoted = letter
        depth += (letter in "[{") - (letter in "]}") if not quoted else 0
        if letter == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


# -- the named ones ----------------------------------------------------------------------------


def _eager(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "range", static=False)


def _cooperative(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "cooperative-sticky", static=False)


def _static(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "range", static=True)


def _kip848(scenario: Scenario) -> list[str]:
    """Let every group speak the consumer protocol; what only the classic one has goes away."""
    overrides: list[str] = []
    for group in scenario.group:
        path = f"group[{group.id}]"
        overrides.append(f"{path}.settings[{PROTOCOL}]=consumer")
        overrides += [
            f"{path}.member[{member.name}].settings[{PROTOCOL}]=consumer"
            for member in group.members
            if member.settings
        ]
    return overrides


def _protocol(scenario: Scenario, assignor: str, *, static: bool) -> list[str]:
    """Give every group one assignor, and its members instance ids or none.

    Raise RefusedError if members are to have none and the scenario says which they have.
    """
    overrides: list[str] = []
    for group in scenario.group:
        named = any(INSTANCE_ID in {**group.settings, **m.settings} for m in group.members)
        if named and not static:
            raise RefusedError(
                f"--with: members of {group.id} have their own {INSTANCE_ID} in the scenario, so "
                "it cannot be played without; take as-written, and path=value"
            )
        path = f"group[{group.id}]"
        if PROTOCOL in group.settings:
            overrides += [f"{path}.settings[{PROTOCOL}]=classic"]
        overrides += [f"{path}.settings[{STRATEGY}]={assignor}"]
        overrides += [f"{path}.static={str(static).lower()}"]
        if group.pattern_by == "broker":
            overrides += [f"{path}.pattern_by=client"]
        for member in group.members:
            own = f"{path}.member[{member.name}].settings"
            if PROTOCOL in member.settings:
                overrides.append(f"{own}[{PROTOCOL}]=classic")
            if STRATEGY in member.settings:
                overrides.append(f"{own}[{STRATEGY}]={assignor}")
    return overrides


NAMED: dict[str, Callable[[Scenario], list[str]]] = {
    "eager": _eager,
    "cooperative": _cooperative,
    "static": _static,
    "kip848": _kip848,
    AS_WRITTEN: lambda _scenario: [],
}
USUAL = ("eager", "cooperative", "static")
"""``eager``: range. ``cooperative``: cooperative-sticky alone. ``static``: eager with instance ids.

Beside them, ``kip848``: the consumer protocol, with the assignor of the coordinator.
"""
