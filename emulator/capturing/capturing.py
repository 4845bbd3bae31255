"""Capture experiments: all runs of all of them, cluster by cluster."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from emulator.capturing.admin import Admin
from emulator.capturing.at_once import capture_at_once
from emulator.capturing.cluster import Cluster, Layout, running_cluster
from emulator.capturing.live import Made, OnProgress
from emulator.capturing.plan import Plan
from emulator.capturing.run import capture_run
from emulator.capturing.temporary import remove_abandoned, temporary_folder
from emulator.capturing.toolchain import MachineError, Toolchain, check_memory, prepare
from emulator.errors import RefusedError, reason_of
from emulator.output_files import LOCK, delete_temporary, only_writer
from emulator.versions import KAFKA

PACKAGES = {"confluent": "confluent_kafka", "aiokafka": "aiokafka", "kafkapython": "kafka"}
"""The package of each client library that is not Java's."""


RETENTION_CHECKS = {"log.initial.task.delay.ms": "1000", "log.retention.check.interval.ms": "1000"}
"""Brokers look for records that are too old as often as emulated ones do."""


@dataclass(frozen=True, slots=True)
class Todo:
    """A run that does not exist yet."""

    plan: Plan
    number: int


def capture(
    plans: Sequence[Plan],
    folder: Path,
    *,
    runs: int = 1,
    jobs: int = 1,
    kafka: str = KAFKA,
    redo_noisy: bool = False,
    say: OnProgress = lambda _: None,
) -> Iterator[Made]:
    """Capture each experiment *runs* times and yield what was made.

    Existing runs are skipped, but not unusable ones; *redo_noisy*: nor noisy ones. *jobs*: the number of runs at a time, each on a cluster of its own. Runs are written to
    ``folder/EXPERIMENT/run-NUMBER``. Raises MachineError if the machine lacks something, before
    anything is written, or if a run cannot be written; FolderInUseError if another process captures
    one of the experiments into the folder.
    """
    _check_names(plans)
    shares = shares_of(list(missing(plans, folder, runs, redo_noisy=redo_noisy)), jobs)
    if not shares:
        return
    wanted = [todo.plan for share in shares for todo in share]
    _check_packages(wanted)
    check_memory(
        len(shares) * (1 + max(plan.brokers for plan in wanted)),
        len(shares) * max(len(plan.members) for plan in wanted),
    )
    folders = {folder / plan.name for plan in wanted}
    _check_folders(folders)
    with ExitStack() as locks:
        for each in sorted(folders):
            locks.enter_context(only_writer(each, each.with_name(f".{each.name}{LOCK}")))
            delete_temporary(each)
        remove_abandoned(say)
        say(f"preparing Kafka {kafka}")
        work = partial(_capture_share, prepare(kafka), folder)
        if len(shares) == 1:
            yield from work(shares[0], say)
        else:
            yield from capture_at_once(work, shares, say)


def shares_of(runs: Sequence[Todo], jobs: int) -> list[list[Todo]]:
    """Deal runs to at most *jobs* shares, so that each needs few clusters.

    Runs of the same cluster follow one another in each share.
    """
    ordered = sorted(runs, key=lambda todo: _order(todo.plan))
    return [share for first in range(jobs) if (share := ordered[first::jobs])]


def layout_of(plan: Plan) -> Layout:
    """Return the cluster that an experiment needs."""
    settings = dict(plan.settings)
    if any(topic.retention_us is not None for topic in plan.topics):
        settings = RETENTION_CHECKS | settings
    return Layout(brokers=plan.brokers, settings=tuple(sorted(settings.items())), racks=plan.racks)


def _order(plan: Plan) -> tuple[object, ...]:
    layout = layout_of(plan)
    return layout.brokers, layout.settings, layout.racks


def _check_names(plans: Sequence[Plan]) -> None:
    names = [plan.name for plan in plans]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RefusedError(f"two experiments are called {twice!r}; runs are written by file name")


def missing(
    plans: Sequence[Plan], folder: Path, runs: int, *, redo_noisy: bool = False
) -> Iterator[Todo]:
    """Yield the runs that do not exist, or are not usable; *redo_noisy*: or are noisy."""
    for plan in plans:
        for number in range(1, runs + 1):
            run = folder / plan.name / f"run-{number}"
            if not (run / "summary.json").exists() or _is_useless(run, redo_noisy=redo_noisy):
                yield Todo(plan, number)


def _is_useless(run: Path, *, redo_noisy: bool) -> bool:
    """Return whether an existing run is made again."""
    try:
        failed = json.loads((run / "summary.json").read_text())["error"] is not None
        noisy = redo_noisy and json.loads((run / "meta.json").read_text())["noise"]["noisy"]
    except (OSError, ValueError, LookupError, TypeError):
        return False  # another program's run, or an older one: it is left alone
    return failed or noisy


def _check_folders(folders: Collection[Path]) -> None:
    """Make the folders of experiments; raise RefusedError if no run can be written to one."""
    for folder in sorted(folders):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise RefusedError(
                f"`folder={folder}`: cannot be written: {reason_of(error)}"
            ) from None


def _check_packages(plans: Sequence[Plan]) -> None:
    used = {member.lib for plan in plans for member in plan.members if member.lib is not None}
    needed = {"confluent_kafka", *(PACKAGES[lib] for lib in used)}
    missing = sorted(name for name in needed if importlib.util.find_spec(name) is None)
    if missing:
        raise MachineError(
            f"the package {missing[0]} is not installed; a capture needs the extra:"
            " pip install 'rebalance-emulator[capture]'"
        )


def _capture_share(
    toolchain: Toolchain, folder: Path, share: Sequence[Todo], say: OnProgress
) -> Iterator[Made]:
    """Capture runs one after the other, with one cluster for those that can have the same."""
    for layout, alike in groupby(share, lambda todo: layout_of(todo.plan)):
        with temporary_folder() as temporary:
            say(f"starting a cluster of {layout.brokers} brokers")
            with running_cluster(toolchain, layout, temporary) as cluster:
                for todo in alike:
                    yield _one(todo.plan, todo.number, cluster, folder, say)


def _one(plan: Plan, number: int, cluster: Cluster, folder: Path, say: OnProgress) -> Made:
    name = f"{plan.name}/run-{number}"
    cluster.repair()
    Admin.connect(cluster.bootstrap).wait_until_ready(cluster.layout.brokers)
    return capture_run(
        plan, number, cluster, folder / plan.name, lambda what: say(f"{name}: {what}")
    )
