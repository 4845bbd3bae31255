"""The log of a client of the consumer protocol has its commits and its first answer."""

from assignors.types import TopicPartition
from emulator.conformance.captured.client_logs import (
    FirstAnswer,
    LogLine,
    Stored,
    automatic_commits,
    first_answer,
    stored_offsets,
)
from emulator.conformance.captured.traces import Committed, Listened

COMMIT = (
    "Enqueuing OffsetCommit request for offsets: {t-0=OffsetAndMetadata{offset=%d, leaderEpoch=0}}"
)
BEGINS = "Reconciling assignment with local epoch 1\n\tMember: X"
GOES_ON = "Auto-commit before reconciling new assignment completed successfully."


def said(*texts):
    """Return lines, one a second, of the background thread."""
    return tuple(
        LogLine(1_000_000 * number, "consumer_background_thread", "X", text)
        for number, text in enumerate(texts)
    )


def test_the_first_commit_of_a_reconciliation_prepares_it():
    """The others are those of the interval, also while the first is not answered."""
    log = said(COMMIT % 1, BEGINS, COMMIT % 2, COMMIT % 3, GOES_ON, COMMIT % 4)

    found = list(automatic_commits(log, None))

    assert ["auto", "prepare", "auto", "auto"] == [commit.kind for commit in found]
    assert [1, 2, 3, 4] == [commit.offsets[0][1] for commit in found]


def test_a_reconciliation_without_positions_commits_nothing():
    """Then the next commit is one of the interval."""
    (commit,) = automatic_commits(said(BEGINS, GOES_ON, COMMIT % 1), None)

    assert "auto" == commit.kind


def test_commits_from_the_call_of_close_on_belong_to_it():
    """They look the same; the application's own trace has the time of close()."""
    kinds = [c.kind for c in automatic_commits(said(COMMIT % 1, COMMIT % 2), 900_000)]

    assert ["auto", "close"] == kinds


def test_the_first_answer_has_the_interval():
    """Later ones are logged only if they change it."""
    line = "Member X received heartbeat interval %dms from the group coordinator"

    assert FirstAnswer(1_000_000, 3_000_000) == first_answer(said("", line % 3000, line % 5000))
    assert first_answer(said("Cluster ID: X")) is None


def test_each_stored_offset_has_the_time_of_the_response():
    """One line for each partition; a failed commit has others."""
    line = "OffsetCommit completed successfully for offset 7 partition t-x-%d"
    log = said(COMMIT % 7, line % 1, line % 0, "OffsetCommit failed with UNKNOWN_MEMBER_ID")

    partitions = [TopicPartition("t-x", number) for number in (1, 0)]
    stored = [Stored(at * 1_000_000, tp, 7) for at, tp in enumerate(partitions, start=1)]
    assert stored == list(stored_offsets(log))


def test_every_commit_a_real_client_knows_of_is_in_its_log(capture):
    """Commits that the application saw accepted had been enqueued, in the same order."""
    run = capture("kip848-crash/run-1")
    for trace in run.traces:
        log = list(automatic_commits(run.client_logs[trace.name], trace.marked_us("closing")))
        line = [dict(e.offsets) for e in trace.entries if isinstance(e, Committed) and e.offsets]

        assert line == [dict(commit.offsets) for commit in log][: len(line)]


def test_a_real_client_commits_before_each_reconciliation_with_positions(capture):
    """One preparation for each assignment that a member had records of before."""
    run = capture("kip848-crash/run-1")
    (trace,) = (trace for trace in run.traces if trace.name == "m3.1")
    kinds = [c.kind for c in automatic_commits(run.client_logs["m3.1"], None)]
    assigned = [e for e in trace.entries if isinstance(e, Listened) and e.call == "assigned"]

    assert ["prepare", "prepare", "auto", "auto"] == kinds
    assert len(assigned) == 3
