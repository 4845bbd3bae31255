"""Traces of a run: every slice on a track without overlap, every arrow between two slices."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

import emulator
from emulator.events import Event, FaultBegan
from emulator.events.messages import MessageCarried
from emulator.ledger.entries import EntryKind
from emulator.report.traces.sequence import MAX_STEPS, Window, diagram_of, mermaid
from emulator.report.traces.tracks import Track, Tracks
from emulator.tracing import trace

from ...cli.commands import CRASH, rebalance, written

SCENARIO = emulator.loads(CRASH)


def slices(document):
    """Return the slices by track, each with begin and end."""
    found = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            found[event["pid"], event["tid"]].append((event["ts"], end, event["name"]))
    return found


def tracks_of(document):
    """Return the names of all tracks by number."""
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in document["traceEvents"]
        if event["name"] == "thread_name"
    }


def test_a_trace_is_of_the_same_run(traced):
    """Exactly played, with each record: the digest and the causes stay."""
    plain = emulator.run(SCENARIO)

    assert plain.digest == traced.run.digest
    assert plain.ledger.by_cause() == traced.run.ledger.by_cause()


def test_slices_of_a_track_nest(document):
    """A slice ends before the next begins, or lies in it: viewers drop others."""
    for track in slices(document).values():
        open_ends = []
        for begin, end, name in track:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], name
            open_ends.append(end)


def test_every_arrow_has_a_slice_at_both_ends(document):
    """From request to handling, from there to the response, from a record to its duplicate."""
    by_track, ends = slices(document), defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] in "sf":
            track = by_track[event["pid"], event["tid"]]
            assert any(begin <= event["ts"] < end for begin, end, _ in track), event
            ends[event["id"], event["name"]].append(event["ts"])
    names = [name for _, name in ends]

    assert all(len(times) == 2 and times == sorted(times) for times in ends.values())
    assert {"request", "response"} < set(names)
    assert [name for name in names if name.startswith("duplicate")]


def test_duplicates_lead_back_to_their_first_processing(traced, document):
    """One arrow for each reprocessed entry."""
    flows = {e["name"] for e in document["traceEvents"] if e["ph"] == "s"}
    entries = traced.run.ledger.of(EntryKind.REPROCESSED)

    assert {f"duplicate {entry.id}" for entry in entries} <= flows


@pytest.mark.long
def test_work_of_a_pool_is_shown_also_out_of_order():
    """A duplicate leads back to it."""
    traced = trace(emulator.load("e7-workers-commit-the-highest"))
    document = json.loads("".join(traced.perfetto()))

    assert "billing-1: workers out of order" in tracks_of(document).values()
    assert "duplicate D1" in {e["name"] for e in document["traceEvents"] if e["ph"] == "s"}


def test_there_are_tracks_for_brokers_groups_members_and_partitions(document):
    """And counters for lag."""
    names = set(tracks_of(document).values())

    assert {"faults", "phases", "billing-0", "billing-1: requests", "orders-3", "broker-1"} <= names
    assert "lag of orders-0" in {e["name"] for e in document["traceEvents"] if e["ph"] == "C"}
    assert {e["name"] for e in document["traceEvents"]} >= {"Stable 1", "poll: 1", "OffsetCommit"}


def test_fetches_lead_to_their_broker_and_back(traced, document):
    """Each in flight once for a member and a broker; the records that it brings are polled."""
    names = tracks_of(document).values()
    sent = {message.request: message for message in traced.fetches if message.is_request}
    answers = [message for message in traced.fetches if not message.is_request]

    assert {"billing-0: fetches", "broker-1: fetches"} <= {*names}
    assert len(answers) > 100
    for answer in answers:
        request = sent[answer.request]
        assert request.sent_us <= request.arrives_us <= answer.sent_us <= answer.arrives_us
        assert (request.sender, request.receiver) == (answer.receiver, answer.sender)


def test_slices_that_overlap_get_tracks_of_their_own():
    """Two owners of a partition at once are both visible."""
    tracks, track = Tracks(), Track("Partitions", "orders-0")
    for begin, end in ((0, 50), (40, 90), (50, 60)):
        tracks.add(track, begin, end, "owner")
    rows = list(tracks.chrome_events())

    first, second, third = [row["tid"] for row in rows if row["ph"] == "X"]
    assert first == third != second
    assert {"orders-0", "orders-0 (2)"} == set(tracks_of({"traceEvents": rows}).values())


# -- sequence diagrams -------------------------------------------------------------------------


def test_a_diagram_declares_everyone_who_appears(traced):
    """And nothing that Mermaid takes for syntax."""
    lines = list(traced.sequence())
    declared = {line.split()[1] for line in lines if line.startswith("  participant")}
    used = set()
    for line in lines[3 + len(declared) :]:
        head, text = line.split(": ", 1)
        assert not re.search(r"[;#](?!\d)", text.replace("#59;", "").replace("#35;", ""))
        used |= set(re.findall(r"p_[a-z0-9_]+", head))

    assert lines[2] == "sequenceDiagram"
    assert used == declared
    assert any("JoinGroup response" in line for line in lines)
    assert any("billing-1 crashes" in line for line in lines)


def test_a_window_is_kept_and_long_ones_are_cut(traced):
    """With the number of steps that are left out."""
    events, messages = traced.run.events, traced.messages
    short = diagram_of(events, messages, Window(18_000_000, 25_000_000))
    whole = diagram_of(events, messages * 40, Window(0, 40_000_000))

    assert all(18_000_000 <= step.at_us <= 25_000_000 for step in short.steps)
    assert (MAX_STEPS, 0) == (len(whole.steps), short.left_out)
    assert whole.left_out > 0


def test_lost_messages_end_in_a_cross():
    """They never arrive."""
    lost = MessageCarried("OffsetCommit", False, "broker-1", "billing-0", "c#1", 5, None, "")
    lines = list(mermaid(diagram_of([], [lost], Window(0, 9)), "one", str))

    assert "  p_broker_1-xp_billing_0: 5 OffsetCommit response (lost)" in lines


def test_a_diagram_without_members_is_valid_too():
    """Every note stands over somebody."""
    fault = Event(0, 5, None, FaultBegan(fault="cut-1", verb="cut", target="broker-1"), 0)
    lines = list(mermaid(diagram_of([fault], [], Window(0, 9)), "one", str))

    assert ["  participant p_group as group"] == [line for line in lines if "participant" in line]
    assert any(line.startswith("  Note over p_group: 5 fault cut-1") for line in lines)


# -- the command -------------------------------------------------------------------------------


@pytest.mark.long
def test_the_command_writes_both_and_replaces_its_own_files(tmp_path):
    """But no file of another origin."""
    path, json_file, diagram = written(tmp_path), tmp_path / "t.json", tmp_path / "s.mmd"
    options = ("--perfetto", json_file, "--sequence", diagram, "--window", "17s..19s")
    for _ in range(2):
        assert 0 == rebalance("run", path, *options).status
    diagram.write_text("mine")
    answer = rebalance("run", path, "--sequence", diagram)

    assert json.loads(json_file.read_text())["otherData"]["generator"] == "rebalance-emulator"
    assert (2, "mine") == (answer.status, diagram.read_text())
    assert "take another name" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--window", "1s..2s"), "add it"),
        (("--sequence", "x.mmd", "--window", "2s..1s"), "not after the beginning"),
        (("--sequence", "x.mmd", "--window", "2..3"), "a unit is missing"),
        (
            ("--sequence", "x.mmd", "--window", "50s..60s"),
            "the run ends at 40s; write FROM..TO up to 40s",
        ),
        (("--sequence", "x.mmd", "--window", "5s..60s"), "the run ends at 40s"),
        (("--sequence", "x.txt"), "ends in .mmd"),
        (("--perfetto", "absent/x.json"), "there is no folder"),
        (("--perfetto", "x.json", "--seeds", "2"), "writes one run"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(tmp_path, monkeypatch, options, said):
    """In one line."""
    monkeypatch.chdir(tmp_path)
    status, out, err = rebalance("run", written(tmp_path), *options)

    assert (2, "") == (status, out)
    assert said in " ".join(err.split())


@pytest.mark.long
def test_a_window_needs_no_run_for(tmp_path):
    """The part of a run that ends when it has settled is the same as that of a longer one."""
    settling = "".join(line for line in CRASH.splitlines(keepends=True) if "run_for" not in line)
    diagrams = []
    for name, text in (("settling", settling), ("long", CRASH)):
        file = tmp_path / f"{name}.mmd"
        path = written(tmp_path, text, f"{name}.toml")
        answer = rebalance("run", path, "--sequence", file, "--window", "17s..19s")
        assert 0 == answer.status
        diagrams.append(file.read_text())

    assert diagrams[0] == diagrams[1]
    assert "fault crash-1 ends (billing-1 crashes)" in diagrams[0]


@pytest.mark.long
def test_a_window_behind_a_run_that_settled_is_refused(tmp_path):
    """Its end is known after the run; until then only the limit is."""
    text = "".join(line for line in CRASH.splitlines(keepends=True) if "run_for" not in line)
    file = tmp_path / "x.mmd"
    answer = rebalance("run", written(tmp_path, text), "--sequence", file, "--window", "20min..2h")

    assert answer.status == 2
    assert "the run ends at 65s" in answer.err
    assert not file.exists()
