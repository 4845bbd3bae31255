"""Keep the ledgers of a test in a file, and say in words how later ones differ.

The file is JSON with one entry a line, so that version control shows its changes. It has no times
and no ids: a change that moves a rebalance by a millisecond is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.errors import RefusedError, reason_of
from emulator.ledger.entries import Entry, EntryKind, Ledger, Owner
from emulator.report.wording import counted, offset_range
from emulator.testing.playing import PlayedSeed

KEYS = ("cause", "detail", "first_owner", "second_owner", "root")
"""What a difference names of an entry whose range is the same."""

MAX_LINES = 20
"""Differences that are listed; the others are counted."""

UPDATE = "pytest --rebalance-update"

Written = Mapping[str, Any]
"""A ledger, or one of its entries, as it is in the file."""


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """Where a test keeps its ledgers."""

    folder: Path
    """Paths are relative to it."""

    update: bool
    """Write the files instead of comparing with them."""

    def differences(self, name: str | Path, runs: Sequence[PlayedSeed]) -> list[str]:
        """Return how the ledgers of some runs differ from those in a file; none: they are equal.

        With *update*, write the file and return none. Raise RefusedError if it cannot be read or
        written.
        """
        __tracebackhide__ = True
        path = self.folder / name
        now = {str(played.seed): ledger_document(played.ledger) for played in runs}
        try:
            if self.update:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(as_text(now), encoding="utf-8")
                return []
            before = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RefusedError(f"{path}: no such file; {UPDATE} writes it") from None
        except (OSError, ValueError) as error:
            raise RefusedError(f"{path}: cannot be used: {reason_of(error)}") from None
        found = list(_differences(before, now))
        more = len(found) - MAX_LINES
        return [*found[:MAX_LINES], f"… and {more} more"] if more > 0 else found


def ledger_document(ledger: Ledger) -> Written:
    """Return a ledger as plain values: totals, and entries without times and ids."""
    return {
        **{kind.value: ledger.total(kind) for kind in EntryKind},
        "entries": [_entry_document(entry) for entry in ledger.entries],
    }


def as_text(ledgers: Mapping[str, Written]) -> str:
    """Return the text of a file: the ledgers by seed, one entry a line."""
    parts = []
    for seed, ledger in ledgers.items():
        totals = {key: value for key, value in ledger.items() if key != "entries"}
        lines = [json.dumps(entry, ensure_ascii=False) for entry in ledger["entries"]]
        entries = "".join(f"\n    {line}" for line in ",\n".join(lines).split("\n") if line)
        parts.append(f'  "{seed}": {{{json.dumps(totals)[1:-1]}, "entries": [{entries}\n  ]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _entry_document(entry: Entry) -> Written:
    return {
        "kind": entry.kind.value,
        "group": entry.group,
        "partition": str(entry.topic_partition),
        "first": entry.first,
        "last": entry.last,
        "cause": None if entry.cause is None else entry.cause.value,
        "detail": entry.detail,
        "first_owner": _name(entry.first_owner),
        "second_owner": _name(entry.second_owner),
        "root": None if entry.root is None else entry.root.id,
    }


def _name(owner: Owner | None) -> str | None:
    return None if owner is None else owner.consumer


# -- differences ---------------------------------------------------------------------------------


def _differences(before: Mapping[str, Written], now: Mapping[str, Written]) -> Iterator[str]:
    if before.keys() != now.keys():
        yield f"the file has the seeds {', '.join(before)}; the test has {', '.join(now)}"
    for seed in now:
        if seed in before:
            for line in _of_ledgers(before[seed], now[seed]):
                yield line if len(now) == 1 else f"seed {seed}: {line}"


def _of_ledgers(before: Written, now: Written) -> Iterator[str]:
    for kind in EntryKind:
        if now[kind.value] != before.get(kind.value):
            yield f"{kind.value} is {now[kind.value]}, was {before.get(kind.value)}"
    old = {_place(entry): entry for entry in before["entries"]}
    new = {_place(entry): entry for entry in now["entries"]}
    for place, entry in new.items():
        if place in old:
            yield from _changes(old[place], entry)
        else:
            yield f"new: {_described(entry)}"
    yield from (f"gone: {_described(old[place])}" for place in old if place not in new)


def _changes(before: Written, now: Written) -> Iterator[str]:
    """Yield the changes of an entry whose range is the same, in one line."""
    words = [
        f"{key.replace('_', ' ')} is {now[key]}, was {before.get(key)}"
        for key in KEYS
        if now[key] != before.get(key)
    ]
    if words:
        yield f"{_range(now)}, {now['kind']}: {'; '.join(words)}"


def _place(entry: Written) -> tuple[Any, ...]:
    return tuple(entry[key] for key in ("kind", "group", "partition", "first", "last"))


def _range(entry: Written) -> str:
    offsets = offset_range(entry["first"], entry["last"] + 1).partition(" ")[0]
    return f"{entry['partition']} {offsets} of {entry['group']}"


def _described(entry: Written) -> str:
    """Return an entry in a line."""
    count = counted(entry["last"] - entry["first"] + 1, "record")
    text = f"{_range(entry)}, {count} {entry['kind']}"
    owners = [owner for owner in (entry["first_owner"], entry["second_owner"]) if owner]
    if owners:
        text += f", by {' then '.join(owners)}"
    cause = entry["cause"]
    return f"{text}: {cause}" if cause else text
