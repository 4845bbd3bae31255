"""Slices, instants, counters and flows on named tracks, as Chrome's JSON trace format.

ui.perfetto.dev and chrome://tracing open it. Times are microseconds. The format calls a group of
tracks a process, and a track a thread. Slices of one track must not overlap: a slice that begins
before an earlier one has ended goes to a further track of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from assignors.values import dataclass

SHORTEST_US = 1
"""The least length of a slice at an end of a flow."""


@dataclass(frozen=True, slots=True, order=True)
class Track:
    """A row of slices: the group it is shown in, and its name."""

    group: str
    name: str


@dataclass(slots=True, eq=False)
class Slice:
    """Something that lasted."""

    track: Track
    begin_us: int
    end_us: int
    name: str
    args: dict[str, Any] = field(default_factory=dict)
    lane: int = 0
    """Which of the tracks of that name it is shown on."""

    inside: Slice | None = None
    """The slice of the same track in which it lies; such slices may share a time."""

    @property
    def length_us(self) -> int:
        """How long it lasted."""
        return self.end_us - self.begin_us


@dataclass(slots=True)
class Tracks:
    """Everything of one trace; groups and tracks are shown in the order of their first use."""

    slices: list[Slice] = field(default_factory=list)
    instants: list[tuple[Track, int, str, Mapping[str, Any]]] = field(default_factory=list)
    counters: list[tuple[str, int, str, int]] = field(default_factory=list)
    """Group, time, name, value."""

    flows: list[tuple[str, Slice, Slice]] = field(default_factory=list)
    """Name, and the slices from whose begin to whose begin an arrow leads."""

    order: dict[Track, None] = field(default_factory=dict)
    """Tracks to show first, in this order, also those without a slice."""

    def add(
        self,
        track: Track,
        begin_us: int,
        end_us: int,
        name: str,
        args: Mapping[str, Any] | None = None,
        inside: Slice | None = None,
    ) -> Slice:
        """Add a slice and return it."""
        made = Slice(track, begin_us, max(begin_us, end_us), name, dict(args or {}), 0, inside)
        self.slices.append(made)
        return made

    def chrome_events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of the trace: names of tracks, then everything by time."""
        self._lengthen()
        self._choose_lanes()
        ids = self._ids()
        yield from _names(ids)
        slices = [*self._slices(ids)]
        rows = [*slices, *self._instants(ids), *self._counters(ids)]
        rows.sort(key=lambda row: (row["ts"], _RANK[row["ph"]], -row.get("dur", 0)))
        ends = self._flow_ends(ids, slices)
        for row in rows:
            yield row
            yield from ends.get(id(row), ())

    def _lengthen(self) -> None:
        """Give slices at the ends of flows a length, before they get a lane: viewers need one."""
        for _, *ends in self.flows:
            for each in ends:
                each.end_us = max(each.end_us, each.begin_us + SHORTEST_US)

    def _choose_lanes(self) -> None:
        """Give each slice the first lane of its track that is free when it begins."""
        free: dict[Track, list[int]] = {}
        for each in sorted(
            self.slices, key=lambda one: (one.begin_us, one.length_us > 0, -one.length_us)
        ):
            if each.inside is not None:
                each.lane = each.inside.lane
                continue
            ends = free.setdefault(each.track, [])
            lane = next((n for n, end in enumerate(ends) if end <= each.begin_us), len(ends))
            ends[lane : lane + 1] = [each.begin_us + each.length_us]
            each.lane = lane

    def _ids(self) -> dict[tuple[Track, int], tuple[int, int]]:
        """Return the numbers of group and track for each track and lane."""
        used = {(each.track, each.lane) for each in self.slices}
        used |= {(track, 0) for track, *_ in self.instants} | {(track, 0) for track in self.order}
        places = {track: place for place, track in enumerate(self.order)}
        ordered = sorted(used, key=lambda one: (places.get(one[0], len(places)), one[0], one[1]))
        groups = dict.fromkeys([track.group for track in self.order])
        groups |= dict.fromkeys([track.group for track, _ in ordered])
        groups |= dict.fromkeys([group for group, *_ in self.counters])
        pids = {group: number for number, group in enumerate(groups, 1)}
        first = len(pids) + 1  # a thread with the number of its process is its main thread
        return {one: (pids[one[0].group], tid) for tid, one in enumerate(ordered, first)}

    def _slices(self, ids: Mapping[tuple[Track, int], tuple[int, int]]) -> Iterator[dict[str, Any]]:
        for each in self.slices:
            pid, tid = ids[each.track, each.lane]
            yield {
                "ph": "X",
                "pid": pid,
                "tid": tid,
                "ts": each.begin_us,
                "dur": each.length_us,
                "name": each.name,
                "args": each.args,
            }

    def _instants(
        self, ids: Mapping[tuple[Track, int], tuple[int, int]]
    ) -> Iterator[dict[str, Any]]:
        for track, at_us, name, args in self.instants:
            pid, tid = ids[track, 0]
            place = {"pid": pid, "tid": tid, "ts": at_us}
            yield {"ph": "i", **place, "s": "t", "name": name, "args": dict(args)}

    def _counters(
        self, ids: Mapping[tuple[Track, int], tuple[int, int]]
    ) -> Iterator[dict[str, Any]]:
        pids = {track.group: pid for (track, _), (pid, _) in ids.items()}
        for group, at_us, name, value in self.counters:
            place = {"pid": pids[group], "tid": 0, "ts": at_us}
            yield {"ph": "C", **place, "name": name, "args": {"records": value}}

    def _flow_ends(
        self,
        ids: Mapping[tuple[Track, int], tuple[int, int]],
        slices: Sequence[Mapping[str, Any]],
    ) -> dict[int, list[dict[str, Any]]]:
        """Return the ends of flows by the ``id()`` of the row of their slice, which they follow.

        Perfetto's trace processor binds an end to the slice that was begun last on its track.
        """
        rows = {id(each): row for each, row in zip(self.slices, slices, strict=True)}
        found: dict[int, list[dict[str, Any]]] = {}
        for number, (name, source, target) in enumerate(self.flows, 1):
            for phase, each in (("s", source), ("f", target)):
                pid, tid = ids[each.track, each.lane]
                place = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": each.begin_us}
                binding = {"bp": "e"} if phase == "f" else {}
                found.setdefault(id(rows[id(each)]), []).append(
                    {**place, "cat": "flow", "name": name, **binding}
                )
        return found


_RANK = {"X": 0, "i": 1, "C": 2}
"""The order of what happens at one time."""


def _names(ids: Mapping[tuple[Track, int], tuple[int, int]]) -> Iterator[dict[str, Any]]:
    groups = {pid: track.group for (track, _), (pid, _) in ids.items()}
    for pid, group in sorted(groups.items()):
        place = {"ph": "M", "pid": pid, "tid": 0}
        yield {**place, "name": "process_name", "args": {"name": group}}
        yield {**place, "name": "process_sort_index", "args": {"sort_index": pid}}
    for (track, lane), (pid, tid) in ids.items():
        place = {"ph": "M", "pid": pid, "tid": tid}
        name = track.name if lane == 0 else f"{track.name} ({lane + 1})"
        yield {**place, "name": "thread_name", "args": {"name": name}}
        yield {**place, "name": "thread_sort_index", "args": {"sort_index": tid}}


def as_json(tracks: Tracks, about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the JSON document; *about*: where the trace comes from."""
    yield f'{{"otherData": {json.dumps(dict(about))}, "displayTimeUnit": "ms", "traceEvents": ['
    before = ""
    for event in tracks.chrome_events():
        yield f"{before}{json.dumps(event)}"
        before = ",\n"
    yield "]}\n"
