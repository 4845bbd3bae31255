"""Kafka's own dump tool reads what a run writes: no complaint, and record for record the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import emulator
from emulator.logs.offsets_log.writing import LogFolder

from .segments import dumped_batch, dumped_record, shown

pytestmark = pytest.mark.long

KAFKA_TOOLS = "4.3.1"
"""The newest that is published."""

POM = f"""
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dump</groupId><artifactId>dump</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>{KAFKA_TOOLS}</version>
    </dependency>
  </dependencies>
</project>
"""
TOOL = "org.apache.kafka.tools.DumpLogSegments"
MAX_S = 300

RUN = """
title = "all that a classic group writes"
run_for = "150s"
start = 2026-05-04T09:00:00Z

[[topic]]
name = "orders"
partitions = 4
rate = "20/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "session.timeout.ms" = "6s", "auto.offset.reset" = "earliest" }

[[group]]
id = "static"
topics = ["orders"]
work = "5ms"
member = [
    { name = "static-0", settings = { "group.instance.id" = "s-0" } },
    { name = "static-1", settings = { "group.instance.id" = "s-1" } },
]

[group.settings]
"partition.assignment.strategy" = "cooperative-sticky"

[[fault]]
crash = "billing-1"
at = "30s"

[[fault]]
move_coordinator = "billing"
at = "50s"

[[fault]]
crash = "static-0"
at = "20s"

[[act]]
close = "billing-0"
at = "1min"

[cluster.settings]
"offsets.retention.minutes" = 1
"offsets.retention.check.interval.ms" = "10s"
"""

ROLLING = """
"log.roll.ms" = "10s"
"log.cleaner.backoff.ms" = "5s"
"log.cleaner.delete.retention.ms" = "5s"
"""


@pytest.fixture(scope="module")
def classpath(tmp_path_factory) -> str:
    """Return where Java finds the tool; Maven fetches it into its own cache."""
    missing = [name for name in ("java", "mvn") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on this machine")
    folder = tmp_path_factory.mktemp("kafka-tools")
    (folder / "pom.xml").write_text(POM)
    goal = ["mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"]
    try:
        done = subprocess.run(
            goal, cwd=folder, capture_output=True, text=True, timeout=MAX_S, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"Maven did not fetch kafka-tools {KAFKA_TOOLS} within {MAX_S} s")
    if done.returncode:
        pytest.skip(f"Maven cannot fetch kafka-tools {KAFKA_TOOLS}: no network?")
    return (folder / "classpath.txt").read_text().strip()


def dumped(classpath: str, path: Path) -> list[str]:
    """Return what the tool prints about a segment."""
    options = ["--offsets-decoder", "--deep-iteration", "--files", str(path)]
    java = ["java", "-cp", classpath, TOOL, *options]
    done = subprocess.run(java, capture_output=True, text=True, check=True, timeout=MAX_S)
    return done.stdout.splitlines()


def segments_of(folder: Path, more: str = "") -> list[Path]:
    """Play the scenario and return the segments it wrote."""
    with LogFolder(folder / "log") as log:
        emulator.run(emulator.loads(RUN + more), 0, keep_events=False, log_files=log)
    return sorted((folder / "log").rglob("*.log"))


def compared(classpath: str, path: Path) -> list[str]:
    """Hold the tool's lines against ours; return those that are about no batch or record."""
    others, lines = [], []
    for line in dumped(classpath, path):
        if line.startswith("| offset:"):
            lines.append(dumped_record(line))
        elif line.startswith("baseOffset:"):
            lines.append(dumped_batch(line))
        else:
            others.append(line)
    assert shown(path, batches=True) == lines
    return others


def test_the_tool_reads_a_log_without_a_complaint(tmp_path, classpath):
    """Batches and records, with all their fields."""
    paths = segments_of(tmp_path)
    said = [compared(classpath, path) for path in paths]

    assert 2 == len(paths)
    assert [[f"Dumping {path}", "Log starting offset: 0"] for path in paths] == said


def test_the_tool_reads_a_compacted_log(tmp_path, classpath):
    """It names the gaps that compaction leaves, as in any compacted log, and nothing else."""
    paths = segments_of(tmp_path, ROLLING)
    said = [line for path in paths for line in compared(classpath, path)]
    usual = ("Dumping ", "Log starting offset: ", "Non-consecutive offsets in ", "  ")

    assert len(paths) > 4
    assert [] == [line for line in said if not line.startswith(usual)]
