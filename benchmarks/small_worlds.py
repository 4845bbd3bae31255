"""Play very many small random worlds, and hold each against all that can be said of any run.

``python -m benchmarks.small_worlds FIRST COUNT JOURNAL`` plays the worlds of so many seeds
(``tests/emulator/modes/small_worlds.py``): no law is broken, and the ledger is that of a count record by
record. Some are also played folded, which leaves the same events, results and bytes of the offsets log
(``FOLDED_OF``). Little of their time is folded: some seeds have a second world, whose members mostly poll
(``POLLING_OF``, ``tests/emulator/modes/polling_worlds.py``), folded and exact. JOURNAL is a file: it gets
a line of JSON for each thousand seeds that have been played; those that it has are not played
again, so that a run can be stopped and begun again, and several can be under way at once.
``python -m benchmarks.small_worlds JOURNAL`` prints what a journal has: worlds, ranges of seeds, and how
many worlds had each client, policy and fault. Worlds with a wrong result, and those that take longer than
20 s, are printed with their seeds; status 1.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from emulator.scenario.problems import ScenarioError
from emulator.scenario.short_forms import TARGETS
from tests.emulator.modes.both_ways import hold_both_ways, hold_whole_run
from tests.emulator.modes.polling_worlds import fast_world, polling_world, timed_world
from tests.emulator.modes.small_worlds import small_world

RANGE = 1_000
"""Seeds of one line of a journal."""

LIMIT_S = 20
"""Seconds of CPU after which a world hangs."""

RENAMING = ("rolling_restart", "drain_node")
"""The acts that can give members new names."""

FOLDED_OF = 8
"""Of so many worlds one is also played folded, with single events and, as studies do, without."""

POLLING_OF = 40
"""After so many worlds there is one that mostly polls, of each kind in turn."""

POLLING = (polling_world, timed_world, fast_world)


class Played(NamedTuple):
    """The worlds of some seeds."""

    first: int
    played: int
    refused: int
    """Draws that are no scenario: what they ask for does not go together."""

    wrong: list[str]
    had: Counter[str]
    """In how many worlds there was each thing."""

    def line(self) -> str:
        """Return it as a line of a journal."""
        return json.dumps(self._asdict(), sort_keys=True) + "\n"


def main(first: int, count: int, journal: Path) -> int:
    """Play the ranges that a journal does not have yet; return the exit status."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    signal.signal(signal.SIGPROF, _hangs)
    known = {part.first for part in read(journal)}
    for start in range(first - first % RANGE, first + count, RANGE):
        if start in known:
            continue
        part = play(start)
        with journal.open("a", encoding="utf-8") as lines:
            lines.write(part.line())
    return show(read(journal))


def play(first: int) -> Played:
    """Play the worlds of one range of seeds."""
    refused, wrong, had = 0, list[str](), Counter[str]()
    for seed in range(first, first + RANGE):
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            had.update(hold(seed))
        except ScenarioError:
            refused += 1
        except Exception as error:  # noqa: BLE001  whatever it is, it is reported
            wrong.append(f"{seed}: {type(error).__name__} {str(error)[:300]}")
            print(f"WRONG {wrong[-1]}", flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return Played(first, RANGE - refused, refused, wrong, had)


def hold(seed: int) -> Iterator[str]:
    """Play what a seed stands for, and yield the names of what there was in it."""
    if seed % POLLING_OF == 0:
        kind = POLLING[seed // POLLING_OF % len(POLLING)]
        skipped = hold_both_ways(kind(seed), seed)
        yield f"both modes: {kind.__name__}{', with skipped periods' if skipped else ''}"
    document, folded = small_world(seed), seed % FOLDED_OF == 0
    hold_whole_run(document, seed, folded=folded)
    yield from contents(document)
    if folded:
        yield "both modes: small_world"


def _hangs(*_: object) -> None:
    raise TimeoutError(f"it takes longer than {LIMIT_S} s")


def contents(document: dict[str, Any]) -> Iterator[str]:
    """Yield the names of what a world has: each name once."""
    (group,) = document["group"]
    settings = [member.get("settings", {}) for member in group["members"]]
    protocols = {own.get("group.protocol", "") for own in (group["settings"], *settings)}
    mixed = "consumer" in protocols and any("session.timeout.ms" in own for own in settings)
    speaks = "both protocols" if mixed else "consumer" if "consumer" in protocols else "classic"
    commit = group.get("commit", "left out")
    policy = commit if isinstance(commit, str) else json.dumps(commit, sort_keys=True)
    handler = group.get("handler", "serial")
    yield f"protocol: {speaks}"
    yield f"client: {group['client']}, {group['read_with']}"
    yield f"commit: {policy}"
    yield f"handler: {handler if isinstance(handler, str) else next(iter(handler))}"
    yield f"offsets: {group.get('offsets', 'kafka')}"
    verbs = {verb for fault in document["fault"] for verb in fault.keys() & TARGETS.keys()}
    yield from (f"fault: {verb}" for verb in sorted(verbs or {"none"}))
    for verb in RENAMING:
        if any(verb in fault and fault.get("names") == "random" for fault in document["fault"]):
            yield f"new names: {verb}"
    if any("group.protocol" in fault.get("settings", {}) for fault in document["fault"]):
        yield "deploy to the other protocol"


def read(journal: Path) -> list[Played]:
    """Return the ranges of a journal, by seed; none if there is no such file."""
    if not journal.exists():
        return []
    lines = journal.read_text(encoding="utf-8").splitlines()
    parts = (json.loads(line) for line in lines)
    return sorted(Played(**{**part, "had": Counter(part["had"])}) for part in parts)


def show(parts: list[Played]) -> int:
    """Print what a journal has; return the exit status."""
    had = sum((part.had for part in parts), Counter[str]())
    wrong = [each for part in parts for each in part.wrong]
    for name in sorted(had):
        print(f"{had[name]:9,} {name}")
    print(f"seeds {', '.join(spans(part.first for part in parts))}")
    print(f"{sum(part.played for part in parts):,} worlds, {len(wrong)} wrong", end="; ")
    print(f"{sum(part.refused for part in parts):,} draws were refused")
    return 1 if wrong else 0


def spans(starts: Iterable[int]) -> Iterator[str]:
    """Yield the seeds of adjacent ranges as ``first to last``."""
    begin = end = None
    for start in (*starts, None):
        if end is not None and start != end:
            yield f"{begin:,} to {end - 1:,}"
            begin = start
        begin = start if begin is None else begin
        end = None if start is None else start + RANGE


if __name__ == "__main__":
    if len(sys.argv) == 2:  # a journal alone
        sys.exit(show(read(Path(sys.argv[1]))))
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
