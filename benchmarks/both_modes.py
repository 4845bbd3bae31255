"""Play random scenarios folded and exact, and compare all that they leave.

``python -m benchmarks.both_modes COUNT [FIRST_SEED [KIND…]]`` plays three scenarios of each seed, or
those of some kinds: ``classic``, members that speak the classic protocol; ``consumer``, members of the
consumer protocol, or of both; ``polling``, members that only poll and work, with short intervals that
do not divide each other, which takes a tenth of the time. The first two have any commit policy; all
have faults, acts, and times on a coarse grid (``tests/emulator/world/periods/periodic_worlds.py``,
``polling_worlds.py``). It prints the counts and the range of seeds; a scenario that ends differently
is printed with its seed, and the status is 1. A scenario without latency, whose virtual time stops,
must do so in both modes.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from emulator.world.stalled_clock import StalledClockError
from tests.emulator.modes.both_ways import hold_both_ways, play_whole, scenario_from
from tests.emulator.modes.polling_worlds import polling_world
from tests.emulator.world.periods.periodic_consumer_worlds import (
    how_consumers_played,
    periodic_consumer_world,
)
from tests.emulator.world.periods.periodic_worlds import how_played, periodic_world

WORLDS = {
    "classic": (periodic_world, how_played),
    "consumer": (periodic_consumer_world, how_consumers_played),
    "polling": (polling_world, lambda _: {}),
}
EACH = 50
"""After so many seeds the counts are printed."""


def main(count: int, first: int, kinds: list[str]) -> int:
    """Compare *count* scenarios from seed *first* on; return the exit status."""
    played, skipped, differ = Counter[str](), Counter[str](), list[str]()
    worlds = {name: each for name, each in WORLDS.items() if name in (kinds or WORLDS)}
    seeds = range(first, first + count // len(worlds))
    for seed in seeds:
        for name, (world, how) in worlds.items():
            played[name] += 1
            try:
                skipped[name] += hold_both_ways(world(seed), seed, **how(seed)) > 0
            except StalledClockError:
                if not stops_exact(world(seed), seed, **how(seed)):
                    differ.append(f"{name} {seed}: stopped, and not in the exact mode")
                    print(f"DIFFERS {differ[-1]}", flush=True)
            except Exception as error:  # noqa: BLE001  whatever it is, it is reported
                differ.append(f"{name} {seed}: {type(error).__name__} {str(error)[:300]}")
                print(f"DIFFERS {differ[-1]}", flush=True)
        if (seed - first) % EACH == EACH - 1 or seed == seeds[-1]:
            print(f"seeds {first} to {seed}: {_counted(played, skipped)}, {len(differ)} differ")
            sys.stdout.flush()
    return 1 if differ else 0


def stops_exact(document: dict[str, Any], seed: int, **how: Any) -> bool:
    """Return whether virtual time stops in the exact mode, too: some worlds have no latency."""
    try:
        play_whole(scenario_from(document), seed, folding=False, **how)
    except StalledClockError:
        return True
    return False


def _counted(played: Counter[str], skipped: Counter[str]) -> str:
    return "; ".join(
        f"{n} {name}, {skipped[name]} with skipped periods" for name, n in played.items()
    )


if __name__ == "__main__":
    first_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sys.exit(main(int(sys.argv[1]), first_seed, sys.argv[3:]))
