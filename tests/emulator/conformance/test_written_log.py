"""A run that replays a real group's history writes the offsets log that the real group wrote."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.offsets_dump import dump_of, entries, read_dump
from emulator.conformance.captured.reading import read_lines
from emulator.conformance.offsets_log import entries_of, outline
from emulator.conformance.prediction.rebuild import rebuild
from emulator.logs.offsets_log.writing import LogFolder
from emulator.world.build import play
from protocols.offsets_topic import partition_for
from protocols.offsets_topic.records import decode
from protocols.offsets_topic.segments.reader import read_log

from ..logs.offsets_log.segments import (
    dumped_record,
    shown,
)

KEPT = Path(__file__).parents[2] / "captures"
FOLDERS = {
    "crash-range-auto/run-1": KEPT,
    "kip848-crash/run-1": KEPT,
    "rolling-static/run-1": Path(os.environ.get("REBALANCE_CAPTURES", KEPT)),
}
"""The captured groups whose log was dumped; the last run is too large to be kept."""


@pytest.fixture(params=FOLDERS)
def run(request, capture) -> Capture:
    path = FOLDERS[request.param] / request.param
    if not path.exists():
        pytest.skip(f"REBALANCE_CAPTURES names no folder with {request.param}")
    return capture(str(path))


@pytest.fixture
def segment(run, tmp_path) -> Path:
    """Return the segment that a replay of the run writes, without chance."""
    rebuilt = rebuild(run, None)
    with LogFolder(tmp_path / "log") as log:
        replay = replace(rebuilt.replay(), log_files=log)
        play(rebuilt.scenario, 0, (), replay=replay)
    (path,) = (tmp_path / "log").rglob("*.log")
    return path


def real_lines(run):
    """Return the lines of Kafka's dump up to the end of the run, as values."""
    until_ms = (run.origin + run.end_us) // 1_000
    lines = map(dumped_record, read_lines(dump_of(run.path, run.group)))
    return [each for each in lines if each["CreateTime"] <= until_ms]


def kind_of(line):
    return line["key"]["type"]


def test_types_and_keys_come_in_the_order_of_the_real_log(run, segment):
    """Requests and generations; how often a timer fired between two generations is chance."""
    until_ms = (run.origin + run.end_us) // 1_000
    real = entries(read_dump(dump_of(run.path, run.group)), run.group, until_ms)
    batches = [
        [decode(record.key, record.value) for record in part.records]
        for part in read_log(segment.read_bytes())
    ]
    ours = [entry for batch in batches for entry in entries_of(batch)]

    assert segment.parent.name == f"__consumer_offsets-{partition_for(run.group)}"
    assert len(outline(real, run.prefix)) > 4
    assert outline(real, run.prefix) == outline(ours, run.prefix)


def test_the_group_is_stored_as_the_real_coordinator_stored_it(run, segment):
    """All but times: generations with their members; or epochs, topic hashes, targets, steps."""

    def stored(lines):
        of_group = [line for line in lines if kind_of(line) != "1"]
        for line in of_group:
            for when in ("currentStateTimestamp", "assignmentTimestamp"):
                if line["payload"] != "<DELETE>":
                    line["payload"]["data"].pop(when, None)
        return [
            (line["key"], line["keySize"], line["valueSize"], line["payload"]) for line in of_group
        ]

    real = stored(real_lines(run))
    assert len(real) > 2
    assert real == stored(shown(segment))


def test_commits_are_as_large_as_the_real_ones(run, segment):
    """Byte by byte the same layout: version, metadata, topic id."""

    def sizes(lines):
        return {
            (
                json.dumps(line["key"]),
                line["keySize"],
                line["valueSize"],
                line["payload"]["version"],
            )
            for line in lines
            if kind_of(line) == "1"
        }

    assert sizes(real_lines(run)) == sizes(shown(segment))
