"""The catalogue: scenarios that are part of the package, to run, read and copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from assignors.values import dataclass
from emulator.scenario.families import Family, family_of
from emulator.scenario.load import read_toml
from emulator.scenario.part import Document
from emulator.scenario.problems import Problem, ScenarioError, hint
from emulator.scenario.symptoms import is_about

_PROTOCOL = re.compile(r"^[^#\n]*group\.protocol\W{1,5}(classic|consumer)\b", re.MULTILINE)

FOLDER = Path(__file__).parent.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario of the catalogue."""

    name: str
    title: str
    about: tuple[str, ...]
    """The comment it begins with: what happens, which question it answers."""

    source: str
    """The public issue thread it comes from; empty if it comes from none."""

    family: Family

    protocols: tuple[str, ...]
    """Values of ``group.protocol`` that it has, variants and deploys included."""


def names() -> list[str]:
    """Return the names of all scenarios, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def path_of(name: str) -> Path:
    """Return the file of a scenario; raise ScenarioError with the closest name if there is none."""
    known = names()
    stem = name.removesuffix(".toml")
    if stem not in known:
        near = hint(stem, known) or "; rebalance scenarios lists them"
        raise ScenarioError(name, [Problem("", f"no such scenario in the catalogue{near}")])
    return FOLDER / f"{stem}.toml"


def read(name: str) -> str:
    """Return the text of a scenario."""
    return path_of(name).read_text(encoding="utf-8")


def entry(name: str) -> Entry:
    """Return a scenario's title and the description in its first lines."""
    text = read(name)
    about = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        about.append(line.removeprefix("#").strip())
    links = [line for line in about if line.startswith("https://")]
    words = tuple(line for line in about if line not in links)
    document = read_toml(text, name)
    return Entry(
        name=name,
        title=str(document["title"]),
        about=words,
        source="".join(links[:1]),
        family=family_of(name),
        protocols=_protocols(text, document),
    )


def search(
    words: Sequence[str], family: Family | None = None, protocol: str | None = None
) -> list[Entry]:
    """Return the scenarios whose text has all *words*, by family and name.

    The text is the name, the family and the whole file: descriptions, verbs and settings. Spaces and
    hyphens separate words. A word for a symptom, or an error of Kafka, finds the scenarios that show it, too.
    Raise ScenarioError, with the closest name, if there is none.
    """
    parts = " ".join(words).replace("-", " ").split()
    texts = {name: f"{name} {family_of(name)}\n{read(name)}" for name in names()}
    entries = [
        entry(name) for name, text in texts.items() if all(is_about(text, part) for part in parts)
    ]
    found = [
        each
        for each in entries
        if family in (None, each.family) and (protocol is None or protocol in each.protocols)
    ]
    if not found:
        near = hint(" ".join(words), names()) or "; rebalance scenarios lists them"
        asked = ", ".join(filter(None, [" ".join(words), family, protocol]))
        raise ScenarioError("catalogue", [Problem("", f"no scenario is about {asked}{near}")])
    order = list(Family)
    return sorted(found, key=lambda each: (order.index(each.family), each.name))


def _protocols(text: str, document: Document) -> tuple[str, ...]:
    """Return the protocols of the groups, and the other one if a deploy or variant has it."""
    settings = [group.get("settings", {}) for group in document["group"]]
    own = {str(each.get("group.protocol", "classic")) for each in settings}
    return tuple(sorted(own | set(_PROTOCOL.findall(text))))


def copy(name: str, destination: Path, *, overwrite: bool = False) -> Path:
    """Copy a scenario into a folder or to a file, and return the path of the copy.

    Raise ScenarioError if the file exists or cannot be written; then nothing is written.
    """
    from emulator.output_files import put  # noqa: PLC0415  only a copy is written

    text = read(name)
    target = destination / path_of(name).name if destination.is_dir() else destination
    if target.exists() and not overwrite:
        reason = "exists already; use another name, or `overwrite`"
        raise ScenarioError(str(target), [Problem("", reason)])
    try:
        put(target, text.encode())
    except (OSError, ValueError) as error:
        reason = f"cannot be written: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError(str(target), [Problem("", reason)]) from None
    return target


MAX_WITH_WORD = 3
"""Names that are shown for a word in them."""


def with_word(word: str) -> str:
    """Return where to look for a scenario whose name is unknown: a family, or names with the word.

    >>> with_word("deploys")
    '; it is a family: rebalance scenarios --family deploys lists its scenarios'
    >>> with_word("zombies")
    '; with this word there are kip848-zombie, l1-zombie-after-pause'
    """
    if word in list(Family):
        return f"; it is a family: rebalance scenarios --family {word} lists its scenarios"
    stem = word.lower().removesuffix("s")
    found = [name for name in names() if len(stem) > 2 and stem in name]
    if not found:
        return "; rebalance scenarios lists the catalogue"
    more = f" and {len(found) - MAX_WITH_WORD} more" if len(found) > MAX_WITH_WORD else ""
    return f"; with this word there are {', '.join(found[:MAX_WITH_WORD])}{more}"
