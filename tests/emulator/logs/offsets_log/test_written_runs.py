"""Whatever happens to brokers, what a run writes is one sound log, as large as the run says."""

from __future__ import annotations

import pytest

import emulator
from emulator.logs.offsets_log.dumping import LogDump, Wanted
from emulator.logs.offsets_log.recognising import read_segment
from emulator.logs.offsets_log.writing import LogFolder
from emulator.scenario import catalogue

pytestmark = pytest.mark.long

ABOUT_BROKERS = [
    name for name in catalogue.names() if "coordinator" in name or name.startswith(("h", "i"))
]


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", ABOUT_BROKERS)
def test_a_run_writes_a_sound_log_of_the_size_it_tells(tmp_path, name):
    """Failovers, truncation, expiry and all: no fault in it, and a coordinator can load it."""
    with LogFolder(tmp_path / "log") as log:
        scenario = emulator.load(catalogue.path_of(name))
        metrics = emulator.run(scenario, keep_events=False, log_files=log).metrics
    paths = sorted((tmp_path / "log").rglob("*.log"))
    dumps = {path.parent: LogDump(Wanted(states=True)) for path in paths}
    lines = [
        line
        for path in paths
        for part in read_segment(path)
        for line in dumps[path.parent].lines(part)
    ]

    assert [] == [line.fault for line in lines if line.fault is not None]
    assert metrics["log_size"] == sum(path.stat().st_size for path in paths)
    assert metrics["log_size_records"] == len(lines)
    assert metrics["log_segments"] == len(paths)
