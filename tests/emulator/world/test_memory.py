"""Memory does not grow with simulated time: a run four times as long needs no more of it."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.long

KIB_PER_MIB = 1024
MARGIN_MIB = 4
"""Allowed difference between two runs, for the allocator."""

ROWS = 2_048
"""Size of the row groups of a run that streams its events: small, so that short runs have many."""

BUSY = """
title = "every record is committed"
run_for = "{seconds}s"

[[topic]]
name = "t"
partitions = 6
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 3
work = {{ exponential = "5ms" }}
commit = "sync per record"
"""

LOSSY = """
title = "commits get lost, records expire, latencies are drawn"
run_for = "{seconds}s"

[network]
loss = 0.01
latency = {{ exponential = "3ms" }}

[[topic]]
name = "t"
partitions = 6
rate = {{ poisson = "10/s" }}
retention = "30s"

[[group]]
id = "g"
topics = ["t"]
members = 3
work = {{ exponential = "5ms" }}
commit = {{ call = "async", when = "every", every = "100ms" }}
settings = {{ "request.timeout.ms" = "2s" }}
"""

QUIET = """
title = "nothing happens, for long"
run_for = "{seconds}s"

[[topic]]
name = "t"
partitions = 60
rate = "1/s"

[[group]]
id = "g"
topics = ["t"]
members = 10
work = "2ms"
"""


ROLLING = (
    BUSY
    + """
[cluster.settings]
"log.roll.ms" = "2s"
"log.cleaner.backoff.ms" = "1s"
"""
)


LAUNCH = """
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *sys.argv[1:]])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process between ours and the run: a child's peak is at least what its parent has."""


def peak_mib(arguments):
    """Run a Python command in a process of its own; return the most memory it ever had."""
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[-1]) / KIB_PER_MIB


def written(folder, text, seconds):
    path = folder / f"{seconds}.toml"
    path.write_text(text.format(seconds=seconds))
    return path


def run(folder, text, seconds, *more):
    return peak_mib(["-m", "emulator", "run", written(folder, text, seconds), *more])


@pytest.mark.parametrize(("text", "seconds"), [(LOSSY, 40), (QUIET, 200)], ids=["lossy", "quiet"])
def test_the_memory_of_a_run_does_not_grow_with_simulated_time(tmp_path, text, seconds):
    """Ledger, metrics and the world's own books are bounded without faults, however long it is."""
    short, long = (run(tmp_path, text, seconds * times) for times in (1, 4))

    assert long - short < MARGIN_MIB


@pytest.mark.parametrize("text", [ROLLING, BUSY], ids=["many segments", "one segment"])
def test_the_memory_of_a_run_that_writes_its_events_and_its_log_does_not_grow_either(
    tmp_path, text
):
    """Bytes of the log are in files when they are appended, rows of events in groups of a fixed size.

    Several groups of them are in the file of the short run already.
    """
    play = (
        "import emulator.events.parquet, emulator.cli.main as command; "
        f"emulator.events.parquet.ROWS = {ROWS}; command.main()"
    )
    scenarios = [written(tmp_path, text, 30 * times) for times in (1, 4)]
    paths = [tmp_path / f"{times}.parquet" for times in (1, 4)]
    folders = [tmp_path / f"{times}" for times in (1, 4)]
    short, long = (
        peak_mib(["-c", play, "run", scenario, "--events", path, "--write-log", folder])
        for scenario, path, folder in zip(scenarios, paths, folders, strict=True)
    )
    rows = [pq.read_metadata(path).num_rows for path in paths]
    sizes = [sum(path.stat().st_size for path in folder.rglob("*.log")) for folder in folders]

    assert ROWS < rows[0]
    assert 3 * rows[0] < rows[1]
    assert all(sizes)
    assert long - short < MARGIN_MIB


def test_only_keeping_the_events_grows(tmp_path):
    """``emulator.run`` returns all events unless ``keep_events`` is false."""
    play = (
        "import sys, emulator; "
        "emulator.run(emulator.load(sys.argv[1]), keep_events=sys.argv[2] == 'keep')"
    )

    def peak(seconds, keep):
        return peak_mib(["-c", play, written(tmp_path, BUSY, seconds), keep])

    kept, skipped = peak(40, "keep"), peak(40, "skip")

    assert kept - skipped > MARGIN_MIB
