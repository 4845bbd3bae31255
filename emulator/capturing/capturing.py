"""Capture experiments: all runs of all of them, cluster by cluster."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from emulator.capturing.admin import Admin
from emulator.capturing.cluster import Cluster, Layout, running_cluster
from emulator.capturing.live import Made, OnProgress
from emulator.capturing.plan import Plan
from emulator.capturing.run import capture_run
from emulator.capturing.toolchain import MachineError, Toolchain, check_memory, prepare
from emulator.errors import RefusedError
from emulator.versions import KAFKA

PACKAGES = {"confluent": "confluent_kafka", "aiokafka": "aiokafka", "kafkapython": "kafka"}
"""The package of each client library that is not Java's."""


def capture(
    plans: Sequence[Plan],
    folder: Path,
    *,
    runs: int = 1,
    kafka: str = KAFKA,
    say: OnProgress = lambda _: None,
) -> Iterator[Made]:
    """Capture each experiment *runs* times and yield what was made; existing runs are skipped.

    Runs are written to ``folder/EXPERIMENT/run-NUMBER``. Raises MachineError if the machine lacks
    something, before anything is written.
    """
    _check_names(plans)
    todo = {plan.name: _missing(folder / plan.name, runs) for plan in plans}
    wanted = [plan for plan in plans if todo[plan.name]]
    if not wanted:
        return
    _check_packages(wanted)
    check_memory(
        1 + max(plan.brokers for plan in wanted), max(len(plan.members) for plan in wanted)
    )
    say(f"preparing Kafka {kafka}")
    toolchain = prepare(kafka)
    for layout, alike in groupby(sorted(wanted, key=_order), layout_of):
        yield from _on_one_cluster(toolchain, layout, list(alike), folder, todo, say)


def layout_of(plan: Plan) -> Layout:
    """Return the cluster that an experiment needs."""
    settings = tuple(sorted(plan.settings.items()))
    return Layout(brokers=plan.brokers, settings=settings, racks=plan.racks)


def _order(plan: Plan) -> tuple[object, ...]:
    layout = layout_of(plan)
    return layout.brokers, layout.settings, layout.racks


def _check_names(plans: Sequence[Plan]) -> None:
    names = [plan.name for plan in plans]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RefusedError(f"two experiments are called {twice!r}; runs are written by file name")


def _missing(folder: Path, runs: int) -> list[int]:
    return [k for k in range(1, runs + 1) if not (folder / f"run-{k}" / "summary.json").exists()]


def _check_packages(plans: Sequence[Plan]) -> None:
    used = {member.lib for plan in plans for member in plan.members if member.lib is not None}
    needed = {"confluent_kafka", *(PACKAGES[lib] for lib in used)}
    missing = sorted(name for name in needed if importlib.util.find_spec(name) is None)
    if missing:
        raise MachineError(
            f"the package {missing[0]} is not installed; a capture needs the extra:"
            " pip install 'rebalance-emulator[capture]'"
        )


def _on_one_cluster(
    toolchain: Toolchain,
    layout: Layout,
    plans: Sequence[Plan],
    folder: Path,
    todo: dict[str, list[int]],
    say: OnProgress,
) -> Iterator[Made]:
    with tempfile.TemporaryDirectory(prefix="rebalance-capture-") as temporary:
        say(f"starting a cluster of {layout.brokers} brokers")
        with running_cluster(toolchain, layout, Path(temporary)) as cluster:
            for plan in plans:
                for number in todo[plan.name]:
                    yield _one(plan, number, cluster, folder, say)


def _one(plan: Plan, number: int, cluster: Cluster, folder: Path, say: OnProgress) -> Made:
    name = f"{plan.name}/run-{number}"
    cluster.repair()
    Admin.connect(cluster.bootstrap).wait_until_ready(cluster.layout.brokers)
    return capture_run(
        plan, number, cluster, folder / plan.name, lambda what: say(f"{name}: {what}")
    )
