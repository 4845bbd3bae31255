"""Read complete traces for the noise of a run and its summary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

_LOGGED = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d\d\d) .*? - \[[^\]]*\] (.*)")
_BEGUN = ("Sending asynchronous auto-commit of offsets {", "Enqueuing OffsetCommit request")
_DONE = ("Completed asynchronous auto-commit of offsets {", "Completed auto-commit of offsets {")


def entries_of(path: Path) -> list[Entry]:
    """Return the entries of a trace; a last line that a kill cut off is left out."""
    if not path.exists():
        return []
    text = path.read_bytes()
    lines = text[: text.rfind(b"\n") + 1].splitlines()
    return [json.loads(line) for line in lines]


def beyond_work_us(entries: Iterable[Entry], work_ms: int) -> Iterator[float]:
    """Yield how much longer each record took than its nominal time; records with a hang left out."""
    hung = False
    for entry in entries:
        if entry["e"] == "hang":
            hung = True
        elif entry["e"] == "r":
            if not hung:
                yield entry["b"] - entry["a"] - work_ms * 1_000
            hung = False


def commit_times_us(entries: Iterable[Entry]) -> Iterator[float]:
    """Yield the duration of each commitSync call that succeeded, and of each commitAsync."""
    begun: list[int] = []
    for entry in entries:
        if entry["e"] == "csync" and entry["ok"]:
            yield entry["b"] - entry["a"]
        elif entry["e"] == "casync":
            begun.append(entry["t"])
        elif entry["e"] == "casyncdone" and begun:
            yield entry["t"] - begun.pop(0)


def auto_commit_times_us(log: str) -> Iterator[float]:
    """Yield the duration of each automatic commit of offsets that a Java client's log shows."""
    begun: float | None = None
    for line in log.splitlines():
        match = _LOGGED.match(line)
        if match is None:
            continue
        hour, minute, second, ms = (int(part) for part in match.groups()[:4])
        at_us = ((hour * 60 + minute) * 60 + second) * 1e6 + ms * 1e3
        if match[5].startswith(_BEGUN):
            begun = None if "{}" in match[5] else at_us
        elif match[5].startswith(_DONE) and begun is not None:
            yield at_us - begun
            begun = None
