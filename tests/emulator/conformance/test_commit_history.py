"""A commit counts when the coordinator has it, whether or not its sender learns it."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import read_capture
from emulator.conformance.captured.coordinator_log import OffsetLine, offset_lines, requests
from emulator.conformance.captured.traces import Committed
from emulator.conformance.history.run import history
from emulator.events import CommitAccepted, CommitAnswered, CommitSent


def without(path: Path, part: str) -> None:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    path.write_bytes(gzip.compress("".join(line for line in lines if part not in line).encode()))


def of(run, kind, consumer=None):
    whats = (event.what for event in history(run))
    return [w for w in whats if isinstance(w, kind) and consumer in {None, w.consumer}]


@pytest.mark.parametrize(
    "name",
    ["crash-range-auto/run-1", "join-cooperative-auto/run-21", "precommit-crash/run-2"],
)
def test_every_answered_commit_is_accepted_once(capture, name):
    """The coordinator's lines and the client's answers are one commit, not two."""
    run = capture(name)
    answered = Counter(
        (trace.member, frozenset(entry.offsets))
        for trace in run.traces
        for entry in trace.entries
        if isinstance(entry, Committed) and entry.offsets and entry.at_us <= run.end_us
    )

    accepted = Counter((w.consumer, frozenset(w.offsets)) for w in of(run, CommitAccepted))
    assert answered == accepted


def test_a_response_is_dated_by_the_thread_that_reads_it(capture):
    """The application of the consumer protocol hears of it only once it has worked through its batch."""
    run = capture("coordinator-pause-consumer/run-1")
    read = {e.what.commit: e.at_us for e in history(run) if type(e.what) is CommitAnswered}
    accepted = {e.what.commit: e.at_us for e in history(run) if type(e.what) is CommitAccepted}
    heard = [
        entry.at_us
        for trace in run.traces
        for entry in trace.entries
        if isinstance(entry, Committed) and entry.offsets and entry.at_us <= run.end_us
    ]

    assert max(at_us - accepted[commit] for commit, at_us in read.items()) < 50_000
    assert len(read) == len(heard)
    assert sum(heard) - sum(read.values()) > 300_000


def test_a_commit_whose_answer_was_not_handled_counts(copied):
    """A member that died before it read the answer has committed all the same."""
    before = of(read_capture(copied), CommitAccepted, "m1")
    without(copied / "m1.1.jsonl.gz", '"t0-0":95,"t0-1":98')
    run = read_capture(copied)

    assert of(run, CommitAnswered, "m1") == []
    assert [dict(w.offsets) for w in before] == [
        dict(w.offsets) for w in of(run, CommitAccepted, "m1")
    ]
    assert [w.commit for w in of(run, CommitSent, "m1")] == ["m1.1#1"]


def test_a_commit_only_the_client_knows_counts(copied):
    """Where the coordinator's log has no lines of it, the client's answer is enough."""
    before = {w.commit for w in of(read_capture(copied), CommitAccepted)}
    without(copied / "coordinator.log.gz", "Committing offsets")

    assert before == {w.commit for w in of(read_capture(copied), CommitAccepted)}


def test_an_unknown_commit_is_only_sent(copied):
    """It is in neither the coordinator's log nor the client's trace: it was sent and got lost."""
    without(copied / "m1.1.jsonl.gz", '"t0-0":95,"t0-1":98')
    without(copied / "coordinator.log.gz", "Committing offsets 95 for partition")
    without(copied / "coordinator.log.gz", "Committing offsets 98 for partition")
    run = read_capture(copied)

    assert of(run, CommitAccepted, "m1") == []
    assert len(of(run, CommitSent, "m1")) == 1


def test_a_request_is_one_member_at_one_time(capture):
    """Offsets of one member within a millisecond belong together, a partition comes once."""
    run = capture("crash-range-auto/run-1")
    lines, ids = offset_lines(run.coordinator_log, [run.productions[0].topic])

    assert ids == {run.productions[0].topic: "0k2r7i0tSAGjtlLp1DCLug"}
    grouped = requests(lines)
    assert {len(request) for request in grouped} == {2, 3}
    a, b = lines[0].partition, lines[1].partition
    made = [
        OffsetLine(0, "p-0", "m1", a, 1),
        OffsetLine(0, "p-1", "m2", b, 1),
        OffsetLine(1000, "p-0", "m1", b, 1),
        OffsetLine(1000, "p-0", "m1", a, 2),
        OffsetLine(9000, "p-0", "m1", b, 2),
    ]
    assert [[line.offset for line in request] for request in requests(made)] == [
        [1, 1],
        [1],
        [2],
        [2],
    ]
