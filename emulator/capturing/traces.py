"""What the traces show while a run lasts: who owns what, and how far it has read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class TraceTail:
    """Reads the lines that a process appends to its trace."""

    path: Path
    owned: set[str] = field(default_factory=set)
    generation: int = -1
    """The last generation or member epoch."""

    next_offsets: dict[str, int] = field(default_factory=dict)
    """By partition: one more than the highest processed offset."""

    last_us: int = 0
    """The time of the last entry."""

    _position: int = 0

    def read(self) -> None:
        """Read the complete lines since the last call."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._position += len(complete)
        for line in complete.splitlines():
            self._see(json.loads(line))

    def _see(self, entry: dict[str, Any]) -> None:
        self.last_us = entry.get("b", entry.get("t", self.last_us))
        match entry["e"]:
            case "assigned":
                self.owned.update(entry["ps"])
            case "revoked" | "lost":
                self.owned.difference_update(entry["ps"])
            case "meta":
                self.generation = entry["gen"]
            case "r":
                known = self.next_offsets.get(entry["p"], 0)
                self.next_offsets[entry["p"]] = max(known, entry["o"] + 1)


def owners(tails: Iterable[tuple[str, TraceTail]]) -> dict[str, list[str]]:
    """Return the owners of each partition, by name."""
    found: dict[str, list[str]] = {}
    for name, tail in tails:
        for partition in tail.owned:
            found.setdefault(partition, []).append(name)
    return dict(sorted(found.items()))


def is_formed(tails: Iterable[TraceTail], partitions: Iterable[str]) -> bool:
    """Return whether all members have joined and each partition has exactly one owner."""
    tails = list(tails)
    found = owners((str(number), tail) for number, tail in enumerate(tails))
    joined = all(tail.owned or tail.generation > 0 for tail in tails)
    return joined and all(len(found.get(partition, ())) == 1 for partition in partitions)


def next_offsets(tails: Iterable[TraceTail]) -> dict[str, int]:
    """Return one more than the highest processed offset of each partition."""
    found: dict[str, int] = {}
    for tail in tails:
        for partition, offset in tail.next_offsets.items():
            found[partition] = max(found.get(partition, 0), offset)
    return found
