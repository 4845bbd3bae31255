"""Count what a run processed twice, or never, from the traces alone.

The count is the other side of the comparison, so nothing of the emulator's accounting is used
here: every record is a number in a set. A *duplicate* is a processing after the first one of the
same offset; *never processed* is what was produced and in no trace. Times are seconds after the
first action.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any, NamedTuple

Entry = dict[str, Any]


class Process(NamedTuple):
    """One process of a member, with the entries of its trace."""

    name: str
    member: str
    entries: Sequence[Entry]


class Done(NamedTuple):
    """One processing of a record."""

    ended_us: int
    began_us: int
    offset: int
    process: str


@dataclass(frozen=True, slots=True)
class Partition:
    """The processings of one partition, in order of their ends."""

    name: str
    produced: int
    done: tuple[Done, ...]

    @property
    def duplicates(self) -> list[tuple[Done, Done]]:
        """Return each processing after the first of its record, with that first one."""
        first: dict[int, Done] = {}
        again = []
        for each in self.done:
            if each.offset in first:
                again.append((first[each.offset], each))
            else:
                first[each.offset] = each
        return again

    @property
    def missing(self) -> list[int]:
        """Return the offsets that were produced and never processed."""
        return sorted(set(range(self.produced)) - {each.offset for each in self.done})


def summary_of(meta: Mapping[str, Any], processes: Sequence[Process]) -> dict[str, Any]:
    """Return the summary of a run, from what its processes finished before ``t_end``."""
    end_us, fault_us = meta["t_end"], meta["t_fault"]
    partitions = list(_partitions(meta, processes))
    duplicates = [pair for each in partitions for pair in each.duplicates]
    pairs = Counter(f"{first.process}>{again.process}" for first, again in duplicates)
    orphaned = set(meta["orphaned"])
    owned = owned_at(processes, fault_us)
    takeover = dict(_takeovers(partitions, {**meta, "owned_at_fault": owned}, fault_us))
    return {
        "scenario": meta["scenario"],
        "run": meta["run"],
        "group": meta["group"],
        "drained": meta["drained"],
        "victim": meta["victim"],
        "produced": sum(each.produced for each in partitions),
        "processed": sum(len(each.done) for each in partitions),
        "distinct": sum(len({d.offset for d in each.done}) for each in partitions),
        "duplicates": len(duplicates),
        "never_processed": sum(len(p.missing) for p in partitions if p.name not in orphaned),
        "lost_ranges": {p.name: ranges(p.missing) for p in partitions if p.missing},
        "per_partition": {each.name: _counts(each) for each in partitions},
        "dup_by_members": dict(sorted(pairs.items())),
        "rebalances_after_fault": _rebalances(processes, fault_us, end_us),
        "owned_at_fault": owned,
        "takeover_s": takeover,
        "takeover_first_s": min(takeover.values(), default=None),
        "takeover_last_s": max(takeover.values(), default=None),
        "max_stall_s": {each.name: _stall_s(each, fault_us) for each in partitions},
        "gen_seq": {p.name: _generations(p, fault_us) for p in processes},
        "callbacks": {p.name: _calls(p, fault_us) for p in processes},
        "commits": {p.name: _commits(p, end_us) for p in processes},
        "record_work_ms": _work_ms(partitions),
    }


def _rebalances(processes: Sequence[Process], fault_us: int, end_us: int) -> int:
    """Return the number of generations above the highest one that was seen before the fault."""
    seen = [
        (entry["t"], entry["gen"])
        for process in processes
        for entry in process.entries
        if entry["e"] == "meta" and entry["gen"] >= 0 and entry["t"] <= end_us
    ]
    before = max((generation for at_us, generation in seen if at_us < fault_us), default=0)
    return len({generation for _, generation in seen if generation > before})


def _work_ms(partitions: Sequence[Partition]) -> dict[str, float] | None:
    """Return the median, the tail and the mean of what a record took."""
    taken = sorted(d.ended_us - d.began_us for each in partitions for d in each.done)
    if not taken:
        return None
    tail = taken[min(len(taken) - 1, len(taken) * 99 // 100)]
    figures = {"p50": median(taken), "p99": tail, "mean": mean(taken)}
    return {name: round(us / 1e3, 3) for name, us in figures.items()}


def _partitions(meta: Mapping[str, Any], processes: Sequence[Process]) -> Iterator[Partition]:
    """Yield every partition; of a topic that was created again, what came after that."""
    ends, again_us = meta["ends"], created_again_us(meta.get("actions", ()))
    done: dict[str, list[Done]] = {name: [] for name in ends}
    for process in processes:
        for entry in process.entries:
            if entry["e"] != "r" or entry["b"] > meta["t_end"]:
                continue
            if entry["a"] >= again_us.get(entry["p"].rpartition("-")[0], 0):
                each = Done(entry["b"], entry["a"], entry["o"], process.name)
                done.setdefault(entry["p"], []).append(each)
    for name, each_done in done.items():
        yield Partition(name, ends.get(name, 0), tuple(sorted(each_done)))


def created_again_us(actions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return when each topic was last created after a deletion: its offsets began at 0 again."""
    found: dict[str, int] = {}
    deleted = set()
    for action in actions:
        if action["do"] == "deltopic":
            deleted.add(action["topic"])
        elif action["do"] == "maketopic" and action["topic"] in deleted:
            found[action["topic"]] = action["t"]
    return found


def _counts(partition: Partition) -> dict[str, Any]:
    missing = partition.missing
    return {
        "produced": partition.produced,
        "processed": len(partition.done),
        "distinct": len({each.offset for each in partition.done}),
        "duplicates": len(partition.duplicates),
        "missing": {"n": len(missing), "ranges": ranges(missing)} if missing else None,
    }


def ranges(offsets: Sequence[int]) -> list[list[int]]:
    """Return sorted offsets as ranges of first and last offset."""
    found: list[list[int]] = []
    for offset in offsets:
        if found and offset == found[-1][1] + 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    return found


def _takeovers(
    partitions: Sequence[Partition], meta: Mapping[str, Any], fault_us: int
) -> Iterator[tuple[str, float]]:
    """Yield the time until another process begins a record, by partition.

    Of the partitions that the victim owned at the fault; without a victim that owned any (a member
    that joins, a broker), of all partitions that get another owner.
    """
    before = {p: member for member, owned in meta["owned_at_fault"].items() for p in owned}
    victims = [name for name in meta["owned_at_fault"] if name.rpartition(".")[0] == meta["victim"]]
    for partition in sorted(partitions, key=lambda each: each.name):
        owner = before.get(partition.name)
        if victims and owner not in victims:
            continue
        begun = [
            d.began_us for d in partition.done if d.began_us >= fault_us and d.process != owner
        ]
        if begun:
            yield partition.name, round((min(begun) - fault_us) / 1e6, 3)


def owned_at(processes: Sequence[Process], at_us: int) -> dict[str, list[str]]:
    """Return the partitions that each process owned at a time, by its listener's calls."""
    found: dict[str, list[str]] = {}
    for process in processes:
        owned: set[str] = set()
        for entry in process.entries:
            if entry["e"] in ("assigned", "revoked", "lost") and entry["b"] < at_us:
                change = owned.update if entry["e"] == "assigned" else owned.difference_update
                change(entry["ps"])
        if any(entry["e"] == "started" and entry["t"] < at_us for entry in process.entries):
            found[process.name] = sorted(owned)
    return found


def _stall_s(partition: Partition, fault_us: int) -> list[float] | None:
    """Return the longest time without work that ended after the fault, and when it ended."""
    spans = [
        (later.began_us - earlier.ended_us, later.began_us)
        for earlier, later in pairwise(sorted(partition.done))
        if later.began_us > fault_us
    ]
    if not spans:
        return None
    longest, until = max(spans)
    return [round(longest / 1e6, 3), round((until - fault_us) / 1e6, 3)]


def _generations(process: Process, fault_us: int) -> list[list[Any]]:
    return [
        [round((entry["t"] - fault_us) / 1e6, 3), entry["gen"], entry["member"][:13]]
        for entry in process.entries
        if entry["e"] == "meta"
    ]


def _calls(process: Process, fault_us: int) -> list[list[Any]]:
    return [
        [
            round((entry["a"] - fault_us) / 1e6, 3),
            round((entry["b"] - entry["a"]) / 1e3, 2),
            entry["e"],
            entry["ps"],
        ]
        for entry in process.entries
        if entry["e"] in ("assigned", "revoked", "lost")
    ]


def _commits(process: Process, end_us: int) -> dict[str, int]:
    """Return the number of commits: accepted ones of any kind, and calls that failed."""
    accepted = sum(
        entry["e"] == "committed" and bool(entry["o"]) and entry["t"] <= end_us
        for entry in process.entries
    )
    failed = sum(entry["e"] == "csync" and not entry["ok"] for entry in process.entries)
    return {"accepted": accepted, "failed": failed}
