"""The Java client's log is read line by line."""

import gzip

from assignors.types import TopicPartition
from emulator.conformance.captured.client_logs import (
    AutoCommit,
    Joined,
    PositionSet,
    Refusal,
    auto_commits,
    finished_assignments,
    first_metadata,
    first_poll,
    heartbeats_sent,
    joins,
    metadata_news,
    positions,
    read_client_log,
    refusals,
)

DAY = 86_400_000_000
NOON = 20_000 * DAY + DAY // 2
T0, T1 = TopicPartition("g.t", 0), TopicPartition("g.t", 1)


def log(tmp_path, *lines, started=NOON, origin=NOON):
    """Write statements, given as clock time, thread and text, and read them back."""
    text = "".join(
        f"{clock} [{thread}] INFO ConsumerCoordinator - [Consumer clientId=m1, groupId=g] {said}\n"
        for clock, thread, said in lines
    )
    path = tmp_path / "m1.1.log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return read_client_log(path, started, origin)


def test_times_count_from_the_runs_first_instant(tmp_path):
    """The day is the process's, milliseconds become microseconds."""
    (line,) = log(tmp_path, ("12:00:01.500", "main", "hello"), origin=NOON - 1)

    assert (line.at_us, line.thread, line.text) == (1_500_001, "main", "hello")


def test_a_log_may_pass_midnight(tmp_path):
    """A clock that falls back by more than half a day has come to the next one."""
    late = NOON + DAY // 2 - 1_000_000
    lines = log(
        tmp_path,
        ("23:59:59.500", "main", "before"),
        ("00:00:00.250", "main", "after"),
        started=late,
        origin=late,
    )

    assert [line.at_us for line in lines] == [500_000, 1_250_000]


def test_lines_without_a_time_belong_to_the_statement_above(tmp_path):
    """Lists and stack traces are parts of what was said."""
    (line,) = log(tmp_path, ("12:00:00.000", "main", "Updating assignment with\n\tAssigned: []"))

    assert line.text == "Updating assignment with\n\tAssigned: []"


def test_positions_have_the_start_of_an_epoch(tmp_path):
    """A committed offset is set, a reset one found; the leader is beside it."""
    where = "offsetEpoch=Optional[0], currentLeader=LeaderAndEpoch{leader=Optional[h:1 (id: 3 rack"
    lines = log(
        tmp_path,
        (
            "12:00:00.001",
            "main",
            "Setting offset for partition g.t-0 to the committed offset FetchPosition{offset=95, "
            + where,
        ),
        (
            "12:00:00.002",
            "main",
            "Resetting offset for partition g.t-1 to position FetchPosition{offset=0, epoch=0}",
        ),
        (
            "12:00:00.003",
            "main",
            (
                "Truncation detected for partition g.t-0 at offset FetchPosition{offset=95, "
                f"{where}, resetting offset to the first offset known to diverge "
                f"FetchPosition{{offset=7, {where}"
            ),
        ),
    )

    assert positions(lines) == (
        PositionSet(1000, T0, 95, source="committed", leader=3),
        PositionSet(2000, T1, 0, source="reset policy", leader=None),
        PositionSet(3000, T0, 7, source="truncated", leader=3),
    )


def test_commits_of_the_client_itself_have_their_kind(tmp_path):
    """Before a join they prepare it, at the end they close; empty ones are not sent."""
    offsets = "{g.t-1=OffsetAndMetadata{offset=7, x=1}, g.t-0=OffsetAndMetadata{offset=5, x=1}}"
    lines = log(
        tmp_path,
        ("12:00:00.001", "main", f"Sending asynchronous auto-commit of offsets {offsets}"),
        ("12:00:00.002", "main", "Marking assigned partitions pending for revocation: [g.t-0]"),
        ("12:00:00.003", "main", "Received successful Heartbeat response"),
        ("12:00:00.004", "main", f"Sending asynchronous auto-commit of offsets {offsets}"),
        ("12:00:00.005", "main", "Sending asynchronous auto-commit of offsets {}"),
        ("12:00:00.006", "main", f"Sending synchronous auto-commit of offsets {offsets}"),
    )

    both = ((T1, 7), (T0, 5))
    assert auto_commits(lines) == (
        AutoCommit(1000, "auto", both),
        AutoCommit(4000, "prepare", both),
        AutoCommit(6000, "close", both),
    )


def test_refusals_are_the_coordinators_or_the_clients_own(tmp_path):
    """The coordinator's name an offset and an error, the client's come from its state."""
    lines = log(
        tmp_path,
        (
            "12:00:00.001",
            "main",
            "Failing OffsetCommit request since the consumer is not part of an active group",
        ),
        (
            "12:00:00.002",
            "main",
            (
                "Offset commit failed on partition g.t-0 at offset 5: This is not the correct"
                " coordinator."
            ),
        ),
        ("12:00:00.003", "main", "Offset commit failed on partition g.t-1 at offset 7: Odd."),
    )

    assert refusals(lines) == (
        Refusal(1000, "UNKNOWN_MEMBER_ID"),
        Refusal(2000, "NOT_COORDINATOR", T0, 5),
        Refusal(3000, "Odd.", T1, 7),
    )


def test_joins_and_assignments_have_the_generation(tmp_path):
    """The answer to JoinGroup names the leader, the leader's log the assignment."""
    lines = log(
        tmp_path,
        (
            "12:00:00.001",
            "main",
            (
                "Received successful JoinGroup response: JoinGroupResponseData(errorCode=0, "
                "generationId=4, protocolType='consumer', protocolName='range', leader='m1-a', "
                "skipAssignment=false, memberId='m1-a', members=[])"
            ),
        ),
        (
            "12:00:00.002",
            "main",
            (
                "Finished assignment for group at generation 4: {m1-a=Assignment(partitions=[g.t-0, "
                "g.t-1]), m2-b=Assignment(partitions=[])}"
            ),
        ),
    )

    assert joins(lines) == (Joined(1000, 4, "range", "m1-a", "m1-a"),)
    (finished,) = finished_assignments(lines)
    assert (finished.generation, dict(finished.assignment)) == (
        4,
        {"m1-a": (T0, T1), "m2-b": ()},
    )


def test_heartbeats_and_metadata_have_their_times(tmp_path):
    """A round trip is from a heartbeat to the next success; news come by metadata or pattern."""
    lines = log(
        tmp_path,
        ("12:00:00.001", "main", "Cluster ID: x"),
        ("12:00:00.002", "kafka-coordinator-heartbeat-thread | g", "Sending Heartbeat request to"),
        ("12:00:00.009", "main", "Received successful Heartbeat response"),
        (
            "12:00:00.010",
            "main",
            "Request joining group due to: cached metadata has changed from (version3: {",
        ),
        (
            "12:00:00.011",
            "main",
            "Request joining group due to: subscription has changed from [t] at",
        ),
        ("12:00:00.012", "main", "Request joining group due to: group is already rebalancing"),
    )

    assert first_metadata(lines) == 1000
    assert heartbeats_sent(lines) == (2000,)
    assert metadata_news(lines) == (10_000, 11_000)


def test_the_first_poll_of_a_new_consumer_makes_it_join(tmp_path):
    """A later join, after it was fenced, is not the first poll; a classic member has none."""
    joins = "Member Ab1 with epoch {} transitioned from {} to JOINING."
    first = ("12:00:00.005", "consumer_background_thread", joins.format(0, "UNSUBSCRIBED"))
    again = ("12:00:00.009", "consumer_background_thread", joins.format(0, "FENCED"))

    assert first_poll(log(tmp_path, first, again)) == 5000
    assert first_poll(log(tmp_path, again)) is None


def test_the_log_of_a_python_client_has_no_threads(tmp_path):
    """Its statements are read, with the logger."""
    path = tmp_path / "m1.1.log.gz"
    said = "Elected group leader -- performing partition assignments using range"
    line = f"12:00:00.012 INFO aiokafka.consumer.group_coordinator {said}\n"
    path.write_bytes(gzip.compress(line.encode()))

    (found,) = read_client_log(path, NOON, NOON)

    assert ("", "aiokafka.consumer.group_coordinator", said) == (
        found.thread,
        found.logger,
        found.text,
    )


def test_the_log_of_another_client_says_nothing(tmp_path):
    """Lines in another form are no statements."""
    path = tmp_path / "m1.1.log.gz"
    path.write_bytes(gzip.compress(b"%7|1795262787.728|INIT|m1#consumer-1| librdkafka\n"))

    assert read_client_log(path, NOON, NOON) == ()
