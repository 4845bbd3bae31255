"""Traces keep the rules of the Trace Event format, as the trace processor of Perfetto reads them.

The rules are those of its importer of JSON (``json_trace_parser``): a tid is looked up without its pid
when it is named, events of one time keep the order of the file, a slice is closed when the next one
of its track begins, and the end of a flow is bound to the slice on top of its track.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from emulator.report.traces.tracks import Track, Tracks

NEEDED = {
    "M": {"ph", "pid", "tid", "name", "args"},
    "X": {"ph", "pid", "tid", "ts", "dur", "name", "args"},
    "i": {"ph", "pid", "tid", "ts", "s", "name", "args"},
    "C": {"ph", "pid", "tid", "ts", "name", "args"},
    "s": {"ph", "pid", "tid", "ts", "id", "cat", "name"},
    "f": {"ph", "pid", "tid", "ts", "id", "cat", "name", "bp"},
}
"""The keys of each phase."""


@pytest.fixture(scope="session")
def rows(document):
    return document["traceEvents"]


def bound(rows):
    """Return the slices at both ends of each flow, by its name and id, as the importer binds them."""
    stacks, starts, found = defaultdict(list), {}, {}
    for row in rows:
        stack = stacks[row["pid"], row["tid"]]
        if row["ph"] in "Xi":
            while stack and stack[-1]["ts"] + stack[-1].get("dur", 0) <= row["ts"]:
                stack.pop()
            stack.append(row)
        elif row["ph"] in "sf":
            flow = (row["cat"], row["name"], row["id"])
            assert stack, f"{flow} has no slice"
            if row["ph"] == "s":
                assert flow not in starts
                starts[flow] = stack[-1]
            else:
                found[flow] = (starts.pop(flow), stack[-1])
    assert not starts, "flows without an end"
    return found


@pytest.mark.long
def test_each_row_has_the_keys_of_its_phase(rows):
    """With numbers where the format wants numbers."""
    for row in rows:
        assert set(row) == NEEDED[row["ph"]], row
        for key in ("pid", "tid", "ts", "dur", "id"):
            assert isinstance(row.get(key, 0), int), row
            assert row.get(key, 0) >= 0, row
        assert ("t", "e") == (row.get("s", "t"), row.get("bp", "e"))
        if row["ph"] == "C":
            assert all(isinstance(value, int) for value in row["args"].values())


def test_rows_come_by_time_after_the_names_of_their_tracks(rows):
    """One name for each process and thread that has a row, and no thread is that of a process."""
    phases = [row["ph"] for row in rows]
    first = phases.index("X")
    names = [row for row in rows if row["ph"] == "M"]
    processes = [row["pid"] for row in names if row["name"] == "process_name"]
    threads = [(row["pid"], row["tid"]) for row in names if row["name"] == "thread_name"]
    times = [row["ts"] for row in rows if row["ph"] != "M"]

    assert "M" not in phases[first:]
    assert times == sorted(times)
    assert len(processes) == len({*processes})
    assert len(threads) == len({tid for _, tid in threads})
    assert {*processes}.isdisjoint(tid for _, tid in threads)
    assert {row["pid"] for row in rows} == {*processes}
    assert {(row["pid"], row["tid"]) for row in rows if row["ph"] in "Xisf"} <= {*threads}


def test_each_counter_has_one_value_at_a_time(rows):
    """By process and name, and one of each partition's lag and of the group's."""
    points = Counter((row["pid"], row["name"], row["ts"]) for row in rows if row["ph"] == "C")

    assert {*points.values()} == {1}
    assert len({(pid, name) for pid, name, _ in points}) == 4 + 1


def test_flows_are_bound_to_the_slices_they_mean(rows):
    """A request to its own handling, that to its own response, a record to its own duplicate."""
    tracks = {row["tid"]: row["args"]["name"] for row in rows if row["name"] == "thread_name"}
    flows = bound(rows)
    for (_, name, _), (source, target) in flows.items():
        assert source["ts"] <= target["ts"]
        if name == "request":
            sender = tracks[source["tid"]].partition(":")[0]
            assert target["name"] == f"{source['name']} of {sender}"
            assert target["args"].get("request") == source["args"].get("request")
        elif name == "response":
            assert target["name"] == f"{source['name'].partition(' of ')[0]} response"
        else:
            assert name == f"duplicate {target['args']['duplicate of']}"

    assert {"request", "response"} < {name for _, name, _ in flows}


def test_flows_of_one_time_are_not_mixed_up():
    """Two requests arrive at a broker at once, and are handled in no time, as an instant happens."""
    tracks, sender, broker = Tracks(), Track("Members", "a"), Track("Brokers", "b")
    for name in ("one", "two"):
        asked = tracks.add(sender, 0, 9, name)
        handled = tracks.add(broker, 5, 5, name)
        tracks.flows.append((name, asked, handled))
    tracks.instants.append((broker, 5, "something", {}))
    flows = bound(list(tracks.chrome_events()))

    assert [
        (name, source["name"], target["name"]) for (_, name, _), (source, target) in flows.items()
    ] == [("one", "one", "one"), ("two", "two", "two")]
