"""Measure time and memory of assignments, and compare them with kafka-python's assignors.

    python benchmarks/assignors.py            everything, about four minutes
    python benchmarks/assignors.py --quick    without cases of over a second in kafka-python

Uniform subscriptions. *leave* and *join*: the middle member leaves, or one joins, each from the
assignor's own fresh result; the time includes the leader's decoding of all members' user data.
Each row is measured in a separate process, so that it has its own peak memory (including inputs
and interpreter). Times are medians of the CPU time of one core, so other load does not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any, NamedTuple

# This file has the name of the package it measures, and Python searches a script's folder first.
if __package__ is None:
    sys.path.pop(0)

from rich.console import Console
from rich.table import Table

from assignors.registry import SERVER_SIDE, load_assignor
from assignors.types import Assignment, Assignor, Subscription, TopicPartition, Topics

PEER_PATIENCE_S = 60


@dataclass(frozen=True)
class Load:
    """A group in which every member subscribes to every topic."""

    members: int
    topics: int
    partitions_each: int

    def __str__(self) -> str:
        return f"{self.topics * self.partitions_each:,} x {self.members:,}"

    def member_ids(self) -> list[str]:
        return [f"consumer-group-{n}-8ca30c4a-a607-4981-903e-{n:012x}" for n in range(self.members)]

    def topic_names(self) -> tuple[str, ...]:
        return tuple(f"topic-{number}" for number in range(self.topics))


SMALL, MIDDLE, LARGE = Load(100, 10, 100), Load(1_000, 10, 1_000), Load(2_000, 500, 2_000)
LOADS = {"small": SMALL, "middle": MIDDLE, "large": LARGE}

LIMITS_MS = {
    ("sticky", LARGE, "fresh"): 1_000,
    ("sticky", LARGE, "leave"): 4_000,
    ("sticky", LARGE, "join"): 4_000,
    ("sticky", MIDDLE, "fresh"): 40,
    ("sticky", MIDDLE, "leave"): 40,
    ("sticky", MIDDLE, "join"): 40,
    ("range", MIDDLE, "fresh"): 20,
    ("roundrobin", MIDDLE, "fresh"): 20,
}
LIMIT_MEGABYTES = {("sticky", LARGE): 1_000}

OURS = ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "server-uniform")
PEERS = ("range", "roundrobin", "sticky", "cooperative-sticky")
QUICK_PEERS = {(name, load) for name in PEERS for load in LOADS} - {
    ("sticky", "middle"),
    ("cooperative-sticky", "middle"),
    ("range", "large"),
    ("roundrobin", "large"),
}
HOPELESS_PEERS = {("sticky", "large"), ("cooperative-sticky", "large")}
"""Cases with over five minutes and 14 GB at the latest measurement."""


def timed(assign: Callable[[], object], times: int) -> float:
    """Return the median milliseconds of a call; its result is deleted between calls."""
    seconds = []
    for _ in range(times):
        start = process_time()
        result = assign()
        seconds.append(process_time() - start)
        del result
    return median(seconds) * 1_000


def times_for(load: Load) -> int:
    return 3 if load is LARGE else 7


# --- ours ---------------------------------------------------------------------------------------


def measure_ours(name: str, load: Load) -> Iterator[tuple[str, float]]:
    """Yield phase and milliseconds."""
    topics = Topics(partition_counts=dict.fromkeys(load.topic_names(), load.partitions_each))
    members = load.member_ids()
    new = {member: Subscription(topics=load.topic_names()) for member in members}
    yield "fresh", timed(lambda: _ask(name, topics, new), times_for(load))
    if name in {"range", "roundrobin", "server-range"}:
        return
    given = _ask(name, topics, new)
    had = {member: _telling(name, load, given[member]) for member in members}
    del given
    left = {member: had[member] for member in members if member != members[len(members) // 2]}
    yield "leave", timed(lambda: _ask(name, topics, left), times_for(load))
    joined = {**had, "the-newcomer": Subscription(topics=load.topic_names())}
    yield "join", timed(lambda: _ask(name, topics, joined), times_for(load))


def _ask(name: str, topics: Topics, subscriptions: dict[str, Subscription]) -> Assignment:
    if name.startswith("server-"):
        return SERVER_SIDE[name.removeprefix("server-")](topics, subscriptions)
    return load_assignor(name).assign(topics, subscriptions)


def _telling(name: str, load: Load, had: tuple[TopicPartition, ...]) -> Subscription:
    """Return the subscription of a member that owned *had* in generation 1."""
    if name.startswith("server-"):
        return Subscription(topics=load.topic_names(), owned_partitions=had)
    own: Assignor = load_assignor(name)
    own.on_assignment(had, 1)
    return Subscription(
        topics=load.topic_names(),
        user_data=own.subscription_user_data(frozenset(load.topic_names())),
        owned_partitions=() if name == "sticky" else had,
        generation_id=1,
    )


# --- kafka-python -------------------------------------------------------------------------------


class PeerMember(NamedTuple):
    member_id: str
    group_instance_id: None
    metadata: Any


@dataclass(frozen=True)
class PeerCluster:
    load: Load

    def topics(self) -> set[str]:
        return set(self.load.topic_names())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self.load.partitions_each)) if topic in self.topics() else None


def measure_peer(name: str, load: Load) -> Iterator[tuple[str, float]]:
    """Yield phase and milliseconds of kafka-python's assignor."""
    cluster, make = PeerCluster(load), _peer_maker(name)
    topics, members = load.topic_names(), load.member_ids()
    new = [PeerMember(member, None, make().metadata(topics)) for member in members]
    start = process_time()
    given = make().assign(cluster, new)
    yield "fresh", (process_time() - start) * 1_000
    if name in {"range", "roundrobin"}:
        return
    had = []
    for member in members:
        own = make()
        own.on_assignment(given[member], 1)
        had.append(PeerMember(member, None, own.metadata(topics)))
    left = had[: len(had) // 2] + had[len(had) // 2 + 1 :]
    yield "leave", timed(lambda: make().assign(cluster, left), 1)
    joined = [*had, PeerMember("the-newcomer", None, make().metadata(topics))]
    yield "join", timed(lambda: make().assign(cluster, joined), 1)


def _peer_maker(name: str) -> Callable[[], Any]:
    from kafka.coordinator.assignors.cooperative_sticky import (  # noqa: PLC0415 -- only in its own process
        CooperativeStickyAssignor,
    )
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415 -- only in its own process
    from kafka.coordinator.assignors.roundrobin import (  # noqa: PLC0415 -- only in its own process
        RoundRobinPartitionAssignor,
    )
    from kafka.coordinator.assignors.sticky.sticky_assignor import (  # noqa: PLC0415 -- only in its own process
        StickyPartitionAssignor,
    )

    makers: dict[str, Callable[[], Any]] = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
    return makers[name]


# --- the run ------------------------------------------------------------------------------------


def in_own_process(implementation: str, name: str, load: str) -> dict[str, float]:
    """Measure one row in a new process; return milliseconds by phase, and ``megabytes``.

    A peer has a minute for each phase; after that, the results until then count.
    """
    command = [sys.executable, __file__, "--measure", implementation, name, load]
    result: dict[str, float] = {}
    late = False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- this file
        for line in process.stdout or ():
            result |= json.loads(line)
            late = late or (
                implementation == "peer" and max(result.values()) > PEER_PATIENCE_S * 1_000
            )
            if late:
                process.kill()
    if process.returncode and not late:
        raise SystemExit(f"measuring {implementation} {name} {load} failed")
    return result


def measure(implementation: str, name: str, load: str) -> None:
    """Print one JSON line for each phase, then one with the peak memory of this process."""
    run = measure_ours if implementation == "ours" else measure_peer
    for phase, milliseconds in run(name, LOADS[load]):
        print(json.dumps({phase: milliseconds}), flush=True)
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"megabytes": kibibytes * 1_024 / 1_000_000}))


def rows(*, quick: bool) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table as they are measured."""
    for key, load in LOADS.items():
        for name in OURS if load is not LARGE else PEERS:
            ours = in_own_process("ours", name, key)
            peer: dict[str, float] = {}
            if name in PEERS and (name, key) not in HOPELESS_PEERS:
                peer = in_own_process("peer", name, key) if asked(name, key, quick=quick) else {}
            for phase in ("fresh", "leave", "join"):
                if phase in ours:
                    yield row(load, name, phase, ours, peer)


def asked(name: str, load: str, *, quick: bool) -> bool:
    return not quick or (name, load) in QUICK_PEERS


def row(
    load: Load, name: str, phase: str, ours: dict[str, float], peer: dict[str, float]
) -> tuple[str, ...]:
    limit, megabytes = LIMITS_MS.get((name, load, phase)), LIMIT_MEGABYTES.get((name, load))
    return (
        str(load),
        name,
        phase,
        f"{ours[phase]:,.1f}",
        f"≤ {limit:,}" if limit else "",
        f"{ours['megabytes']:,.0f}" + (f" ≤ {megabytes:,}" if megabytes else ""),
        f"{peer[phase]:,.1f}" if phase in peer else "-",
        f"{peer[phase] / ours[phase]:,.1f}" if phase in peer else "-",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="leave out the slowest of the peer's")
    parser.add_argument("--measure", nargs=3, metavar=("WHO", "ASSIGNOR", "LOAD"))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    console = Console()
    table = Table(title="Assignors: milliseconds a call, one core, uniform subscriptions")
    headings = ("partitions x members", "assignor", "phase", "ours", "wanted", "peak MB")
    for heading in (*headings, "kafka-python", "its time / ours"):
        table.add_column(heading, justify="left" if heading in headings[:3] else "right")
    with console.status("measuring") as status:
        for cells in rows(quick=arguments.quick):
            table.add_row(*cells)
            status.update(f"measured {' '.join(cells[:3])}")
    console.print(table)


if __name__ == "__main__":
    main()
