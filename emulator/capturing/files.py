"""Write a run as files, in the form that ``rebalance verify`` reads."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.capturing.cluster import JVM
from emulator.capturing.counting import Process, summary_of
from emulator.capturing.live import LiveRun
from emulator.capturing.noise import noise_json
from emulator.capturing.reading_traces import (
    auto_commit_times_us,
    beyond_work_us,
    commit_times_us,
    entries_of,
)
from emulator.capturing.toolchain import MachineError
from emulator.errors import reason_of
from emulator.output_files import beside, put
from emulator.versions import KAFKA

DUMP_S = 60


def write_run(run: LiveRun, target: Path, log_sizes: Mapping[int, int]) -> None:
    """Write all files of a run; the folder appears when it is complete.

    Raises MachineError if it cannot be written; then nothing of it is left.
    """
    building = beside(target)
    try:
        building.mkdir()
        _write_files(run, building, log_sizes)
        put(target.parent / "scenario.json", _json(run.plan.as_json()))
        shutil.rmtree(target, ignore_errors=True)
        building.rename(target)
    except OSError as error:
        raise MachineError(f"{target}: the run cannot be written: {reason_of(error)}") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write_files(run: LiveRun, building: Path, log_sizes: Mapping[int, int]) -> None:
    traces = {
        each.name: entries_of(run.members.folder / f"{each.name}.jsonl")
        for each in run.members.incarnations
    }
    _finish_meta(run, traces)
    for each in run.members.incarnations:
        for end in ("jsonl", "log"):
            source = run.members.folder / f"{each.name}.{end}"
            _pack(source.read_bytes() if source.exists() else b"", building / f"{source.name}.gz")
    lines = run.cluster.log_lines(run.group, log_sizes)
    text = "".join(f"{line}\n" for line in lines)
    _pack(text.encode(), building / "coordinator.log.gz")
    _write_offsets_log(run, building)
    (building / "meta.json").write_bytes(_json(run.meta))
    (building / "summary.json").write_bytes(_json(_summary(run, traces)))


def _summary(run: LiveRun, traces: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    processes = [
        Process(each.name, each.member, traces[each.name]) for each in run.members.incarnations
    ]
    summary = summary_of(run.meta, processes)
    return {**summary, "error": run.error}


def _finish_meta(run: LiveRun, traces: Mapping[str, list[dict[str, Any]]]) -> None:
    meta, player = run.meta, run.player
    meta["kafka"] = run.cluster.toolchain.kafka
    meta["follows"] = KAFKA
    meta["actions"] = player.actions
    meta["brokers"] = run.plan.brokers
    meta["broker_settings"] = dict(run.plan.settings)
    planned = player.start_us + run.plan.length_us // 2
    meta["t_fault"] = player.actions[0]["t"] if player.actions else planned
    if "t_formed" not in meta:
        run.error = "the group had not formed when the first action was done"
        meta["t_formed"] = meta["t_members_start"]
        meta.setdefault("coord", {"coord": run.admin.coordinator(run.group)})
    meta["victim"] = next((a["member"] for a in player.actions if a["member"]), None)
    meta["produce"] = {key: _production(run, key) for key in run.streams}
    work = {each.id: int(each.application.get("work", "0")) for each in run.plan.members}
    meta["noise"] = noise_json(
        run.probe.late_us,
        [us for n, t in traces.items() for us in beyond_work_us(t, work[n.rpartition(".")[0]])],
        [us for name, trace in traces.items() for us in _commit_times(run, name, trace)],
        os.getloadavg()[0] / (os.cpu_count() or 1),
    )


def _commit_times(run: LiveRun, name: str, trace: list[dict[str, Any]]) -> list[float]:
    log = run.members.folder / f"{name}.log"
    said = log.read_text(errors="replace") if log.exists() else ""
    return [*commit_times_us(trace), *auto_commit_times_us(said)]


def _production(run: LiveRun, key: str) -> dict[str, Any]:
    stream = run.streams[key]
    shown: dict[str, Any] = {"t_start": stream.start_us, "tick_ns": stream.tick_ns}
    if key.endswith("+"):
        return {"from": stream.first, "to": stream.to, **shown}
    plan = run.topic(key)
    if plan.retention_us is not None:
        shown["retention_ms"] = plan.retention_us // 1_000
    count = run.partitions[key]
    return {
        "partitions": plan.partitions,
        "rate": plan.rate,
        "preload": plan.preload,
        "record_bytes": plan.record_bytes,
        "t_created": run.created_us[key],
        **shown,
        "t_stop": max(stream.start_us, stream.stop_us),
        "end": [run.meta["ends"].get(f"{key}-{p}", 0) for p in range(count)],
        "failed": run.producer.failed,
    }


def _write_offsets_log(run: LiveRun, folder: Path) -> None:
    """Copy the segment of the group's offsets partition, and a dump of the group's records."""
    number = run.meta["offsets_partition"]
    node = run.cluster.nodes[run.meta["coord"]["coord"]]
    log = node.folder / "data" / f"__consumer_offsets-{number}" / f"{0:020}.log"
    if not log.exists():
        return
    copy = run.members.folder / f"{0:020}.log"
    shutil.copyfile(log, copy)
    _pack(copy.read_bytes(), folder / f"__consumer_offsets-{number}.{copy.name}.gz")
    tool = run.cluster.toolchain.command("OffsetsDump", str(copy), run.group, options=JVM)
    dumped = subprocess.run(tool, capture_output=True, timeout=DUMP_S, check=False)
    if dumped.returncode == 0:
        _pack(dumped.stdout, folder / "offsets-log.dump.txt.gz")


def _pack(content: bytes, path: Path) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"
