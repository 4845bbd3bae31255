"""The raw offsets log of a replayed group: every record's type and key, in the order of the log.

``test_written_log`` compares the different requests between two generations. Here nothing is
merged: each commit counts, as often as it was made. Two things depend on timing only: which of
two members is first whose timers fire in the same tenth of a second; and what a member was busy
with when its timer fired, if it has a backlog. So the comparison ends with the last generation of
the run, after which members only work off their lag.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.offsets_dump import dump_of
from emulator.conformance.captured.reading import read_lines
from emulator.conformance.prediction.rebuild import rebuild
from emulator.logs.offsets_log.writing import LogFolder
from emulator.world.build import play

from ..logs.offsets_log.segments import (
    dumped_record,
    shown,
)

KEPT = Path(__file__).parents[2] / "captures"
RECORDS = {
    ("crash-range-auto/run-1", KEPT): 21,
    ("rolling-static/run-1", Path(os.environ.get("REBALANCE_CAPTURES", KEPT))): 47,
}
"""How many records are compared; the second run is too large to be kept."""

IN_PHASE_MS = 100
METADATA = "2"


@pytest.fixture(params=RECORDS, ids=lambda known: known[0])
def known(request, capture) -> tuple[Capture, int]:
    name, folder = request.param
    if not (folder / name).exists():
        pytest.skip(f"REBALANCE_CAPTURES names no folder with {name}")
    return capture(str(folder / name)), RECORDS[request.param]


def written(run, folder):
    """Return the lines of the segment that a replay of the run writes, without chance."""
    rebuilt = rebuild(run, None)
    with LogFolder(folder) as log:
        replay = replace(rebuilt.replay(), log_files=log)
        play(rebuilt.scenario, 0, (), replay=replay)
    (path,) = folder.rglob("*.log")
    return shown(path)


def dumped(run):
    """Return the lines of Kafka's dump up to the end of the run."""
    until_ms = (run.origin + run.end_us) // 1_000
    lines = map(dumped_record, read_lines(dump_of(run.path, run.group)))
    return [line for line in lines if line["CreateTime"] <= until_ms]


def to_the_last_generation(lines):
    """Return the lines up to the last one about the group itself."""
    last = max(at for at, line in enumerate(lines) if line["key"]["type"] == METADATA)
    return lines[: last + 1]


def owners_of(line):
    """Return who has each partition, by a line about the group."""
    return {
        (topic["topic"], number): member["clientId"]
        for member in line["payload"]["data"]["members"]
        for topic in (member["assignment"] or {}).get("assignedPartitions", ())
        for number in topic["partitions"]
    }


def in_order(lines):
    """Return all keys; of commits in the same tenth of a second, member by member."""
    ordered, together, owners = [], [], {}
    for line in lines:
        key = line["key"]["data"]
        late = together and line["CreateTime"] - together[-1][0] > IN_PHASE_MS
        if late or line["key"]["type"] == METADATA:
            ordered += [key for _, _, key in sorted(together, key=lambda commit: commit[1])]
            together = []
        if line["key"]["type"] == METADATA:
            owners = owners_of(line)
            ordered.append(key)
        else:
            owner = owners[key["topic"], key["partition"]]
            together.append((line["CreateTime"], owner, key))
    return ordered


def test_every_type_and_key_is_at_its_place_of_the_real_log(known, tmp_path):
    """As often, and in the same order but for timers in phase."""
    run, number = known
    real = in_order(to_the_last_generation(dumped(run)))
    ours = in_order(to_the_last_generation(written(run, tmp_path / "log")))

    assert number == len(real)
    assert real == ours
