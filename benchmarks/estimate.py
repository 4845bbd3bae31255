"""Measure the catalogue, compare it with the estimate, and fit the costs of the estimate to it.

    python -m benchmarks.estimate [--rounds 3] [--keep FILE] [--use FILE]

prints each scenario whose estimate is more than 1.5 times off, how many are within a factor of two,
and the table for ``COSTS_US`` of ``emulator/scenario/estimates/cpu_time.py``. ``--keep`` writes the measured
times to a file, ``--use`` reads them from there instead of measuring.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import emulator
from emulator.scenario import catalogue
from emulator.scenario.estimates.cpu_time import COSTS_US, Source, counts
from emulator.scenario.model import Scenario

MORE = {
    "100 members": {"members": 100, "partitions": 1000, "run_for": "20s"},
    "many records": {"rate": "200/s", "run_for": "3min"},
    "few records": {"rate": "1/s", "run_for": "10min"},
    "one hour": {"run_for": "1h"},
    "commits per batch": {"commit": "sync", "run_for": "3min"},
    "work of 40 ms, commits per batch": {
        "members": 12,
        "partitions": 48,
        "rate": "5/s",
        "work": "40ms",
        "commit": "sync",
        "run_for": "1min",
    },
    "queues of librdkafka": {
        "client": "librdkafka",
        "members": 12,
        "partitions": 48,
        "rate": "42/s",
        "work": "4ms",
        "run_for": "20s",
    },
    "queues of librdkafka, behind": {
        "client": "librdkafka",
        "partitions": 12,
        "rate": "42/s",
        "work": "8ms",
        "run_for": "20s",
    },
    "consumer protocol": {"members": 20, "partitions": 100, "protocol": "consumer"},
}
"""Groups without faults, other sizes than in the catalogue."""

USUAL = {
    "members": 3,
    "partitions": 6,
    "rate": "10/s",
    "work": "2ms",
    "commit": "auto",
    "run_for": "1min",
    "protocol": "classic",
    "client": "java",
}

TEXT = """
title = "a group without faults"
run_for = "{run_for}"
topic = [{{ name = "t", partitions = {partitions}, rate = "{rate}" }}]
[[group]]
id = "g"
topics = ["t"]
client = "{client}"
members = {members}
work = "{work}"
commit = "{commit}"
settings = {{ "auto.offset.reset" = "earliest", "group.protocol" = "{protocol}" }}
"""

STIFFNESS = 0.01
"""How much a change of a cost by a factor of e counts, against an estimate that is off by that."""

STEPS = 300


def scenarios() -> dict[str, Scenario]:
    """Return what is measured, by name."""
    found = {name: emulator.load(name) for name in catalogue.names()}
    return found | {
        name: emulator.loads(TEXT.format(**{**USUAL, **more})) for name, more in MORE.items()
    }


def measured(scenario: Scenario, rounds: int) -> float:
    """Return the CPU time of a run in microseconds, the shortest of some rounds."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        emulator.run(scenario, keep_events=False)
        times.append(time.process_time() - begin)
    return min(times) * 1e6


def fitted(table: np.ndarray, times: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the costs that minimise the squared logarithms of estimate / time.

    Levenberg and Marquardt's steps on the logarithms of the costs, which stay positive. *before*:
    the present costs; a source that no run depends on keeps its cost.
    """
    start = np.log(before)
    at, damping = start, 1.0

    def error(logs: np.ndarray) -> float:
        off = np.log(table @ np.exp(logs) / times)
        return float(off @ off + STIFFNESS * (logs - start) @ (logs - start))

    for _ in range(STEPS):
        costs = np.exp(at)
        total = table @ costs
        slopes = table * costs / total[:, None]
        curve = slopes.T @ slopes + (STIFFNESS + damping) * np.eye(len(at))
        step = np.linalg.solve(curve, slopes.T @ np.log(total / times) + STIFFNESS * (at - start))
        better = error(at - step) < error(at)
        at = at - step if better else at
        damping = max(damping / 3, 1e-9) if better else damping * 4
    return np.exp(at)


def report(names: list[str], estimates: np.ndarray, times: np.ndarray) -> None:
    """Print the scenarios whose estimate is far off, and how many are not."""
    ratios = estimates / times
    off = np.maximum(ratios, 1 / ratios)
    for place in np.argsort(-off):
        if off[place] > 1.5:
            took, said = times[place] / 1e6, estimates[place] / 1e6
            print(f"{names[place]:36} {took:7.3f} s, estimated {said:7.3f} s: {ratios[place]:.2f}")
    print(f"within a factor of 2: {np.mean(off <= 2):.0%}; the largest factor: {off.max():.2f}")


def times_of(found: Mapping[str, Scenario], rounds: int) -> dict[str, float]:
    """Return the measured time of each scenario."""
    for name in ("quiet", "kip848-static-crash"):
        measured(found[name], 1)  # imports and caches
    return {name: measured(scenario, rounds) for name, scenario in found.items()}


def main() -> None:
    """Measure, compare and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--use", type=Path)
    given = parser.parse_args()
    found = scenarios()
    took = json.loads(given.use.read_text()) if given.use else times_of(found, given.rounds)
    if given.keep:
        given.keep.write_text(json.dumps(took))
    names = [name for name in found if name in took]
    counted = [counts(found[name]) for name in names]
    table = np.array([[each[source] for source in Source] for each in counted], float)
    times = np.array([took[name] for name in names])
    before = np.array([COSTS_US[source] for source in Source])
    print("with the present costs:")
    report(names, table @ before, times)
    costs = fitted(table, times, before)
    print("\nfitted:")
    report(names, table @ costs, times)
    for source, cost in zip(Source, costs, strict=True):
        print(f"    Source.{source.name}: {float(f'{cost:.3g}'):_},".replace(".0,", ","))
    speed = math.exp(np.mean(np.log(times / (table @ before))))
    print(f"this machine takes {speed:.2f} times the present costs")


if __name__ == "__main__":
    main()
