"""Facts that a scenario may take from a capture."""

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from emulator.conformance.captured.coordinator_log import CoordinatorLine
from emulator.conformance.captured.traces import Polled
from emulator.conformance.prediction.contacts import last_contact
from emulator.conformance.prediction.facts import (
    due_us,
    group_leaders,
    join_requests,
    last_metadata_refresh,
    members,
    partition_leaders,
    pattern_time_us,
    service_times,
    start_ups,
)

CRASH = "crash-range-auto/run-1"


def evictions(run):
    """Return who was evicted when, and the session timeout, as the coordinator's log has it."""
    ids = {member_id: trace for trace in run.traces for member_id in trace.member_ids}
    for line in run.coordinator_log:
        assert isinstance(line, CoordinatorLine)
        if " has failed, removing it" in line.text:
            trace = ids[line.text.split()[1]]
            yield trace.member, line.at_us, int(trace.conf["c.session.timeout.ms"]) * 1000


def java_bucket(partition, size):
    """Return the bucket of a TopicPartition in a Java HashMap of this table length."""
    topic = 0
    for char in partition.topic:
        topic = (31 * topic + ord(char)) % 2**32
    hashed = (31 * (31 + partition.partition) + topic) % 2**32
    return (hashed ^ hashed >> 16) & (size - 1)


def polls_out_of_order(run):
    """Count polls whose partitions are not in the order of Java's hash map, and all of several."""
    orders = [
        [partition for partition, _, _ in entry.ranges]
        for trace in run.traces
        for entry in trace.entries
        if isinstance(entry, Polled) and len(entry.ranges) > 1
    ]
    wrong = [o for o in orders if o != sorted(o, key=lambda p: java_bucket(p, 16))]
    return len(wrong), len(orders)


def test_a_poll_hands_out_partitions_in_the_order_of_javas_hash_map(capture):
    """Topic names count with their prefix; the table has 16 places."""
    counted = [polls_out_of_order(capture(name)) for name in (CRASH, "pause-zombie-range/run-21")]

    assert [wrong for wrong, _ in counted] == [0, 0]
    assert min(several for _, several in counted) > 50


def test_a_client_without_a_log_is_known_from_the_coordinators(capture):
    """It logs the JoinGroup requests with a new member's id, and the eviction after a heartbeat."""
    run = capture("inhand-librdkafka/run-1")
    victim = run.actions[0].member
    trace = next(trace for trace in run.traces if trace.member == victim)

    first, second = join_requests(run, trace)[:2]
    contact = last_contact(run, victim, run.fault_us)

    assert trace.started_us < first <= second < run.formed_us
    assert run.fault_us - 1_200_000 < contact.at_us <= run.fault_us


@pytest.mark.long
def test_every_poll_hands_out_partitions_in_the_order_of_javas_hash_map(comparable_capture):
    """The same holds on every comparable capture at hand; other clients have other orders."""
    if any("lib" in trace.conf for trace in comparable_capture.traces):
        pytest.skip("not of the Java client")
    assert polls_out_of_order(comparable_capture)[0] == 0


def test_members_are_set_up_as_the_capture_says(capture):
    """Kafka's settings by name, with those the application sets itself."""
    m1 = members(capture(CRASH))[0]

    assert (m1.member, m1.instance_id, m1.mode, m1.work_us) == ("m1", None, "auto", 10_000)
    assert m1.topics == ("crash-range-auto-1-hrkn4.t0",)
    assert m1.kafka == {
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "true",
        "heartbeat.interval.ms": "1000",
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
        "session.timeout.ms": "6000",
    }
    assert (m1.commit_every_us, m1.poll_timeout_us, m1.stops_in_batch) == (None, 100_000, False)


def test_a_commit_timer_is_part_of_the_set_up(capture):
    """Timer commits have their interval; automatic ones are off."""
    run = capture("nocommit-eager-join/run-1")
    m1 = members(run)[0]

    assert (
        m1.mode,
        m1.commit_every_us,
        m1.kafka["enable.auto.commit"],
    ) == ("timer", 5_000_000, "false")


def test_what_captures_of_the_command_add_is_read(capture):
    """Settings of the application in ``started``, of brokers and of records in ``meta.json``."""
    run = capture("close-consumer/run-1")
    (first, *others) = run.traces
    conf = {**first.conf, "pollTimeout": "50", "pattern": "t.*", "patternBy": "broker"}
    conf["listener"] = "2000"
    m1 = members(replace(run, traces=(replace(first, conf=conf), *others)))[0]

    assert (m1.pattern_by, m1.poll_timeout_us) == ("broker", 50_000)
    assert m1.listener_us == 2_000_000
    assert run.consumer_session_us == 6_000_000
    assert [production.record_bytes for production in run.productions] == [100]
    assert (run.noisy, run.quiet) == (True, False)


def test_static_members_have_their_instance_ids(capture):
    """The id is separate from the settings."""
    found = members(capture("static-crash-return/run-21"))

    assert [member.instance_id for member in found] == ["i1", "i2", "i3"]
    assert all("group.instance.id" not in member.kafka for member in found)


def test_the_leaders_of_partitions_and_generations(capture):
    """Clients' logs have the leader of each partition, and of each generation."""
    run = capture(CRASH)

    leaders = partition_leaders(run)
    assert len(leaders) == 6
    assert tuple(leaders[TopicPartition(run.productions[0].topic, p)] for p in (0, 1)) == (1, 2)
    assert group_leaders(run) == {1: "m1", 2: "m2"}
    assert run.coordinator == 1


def test_starts_run_from_the_process_to_the_first_assignment(capture):
    """Each step of a start follows the one before."""
    for up in start_ups(capture("static-crash-return/run-21")):
        steps = (
            up.started_us,
            up.subscribed_us,
            up.metadata_us,
            up.join_sent_us,
            up.joined_us,
            up.assigned_us,
        )

        assert steps == tuple(sorted(steps)), up
    late = start_ups(capture("join-cooperative-auto/run-21"))[-1]
    assert (late.member, late.incarnation) == ("m4", 1)


def test_service_times_are_kept_per_record_in_order(capture):
    """A record done twice has two times, the first owner's first."""
    run = capture(CRASH)
    times = service_times(run)
    topic = run.productions[0].topic

    assert times[TopicPartition(topic, 0), 0] == (12039,)
    assert len(times[TopicPartition(topic, 0), 100]) == 2
    assert sum(len(taken) - 1 for taken in times.values()) == 166


@pytest.mark.parametrize("name", [CRASH, "pause-zombie-range/run-21", "precommit-crash/run-2"])
def test_an_eviction_follows_the_last_contact_by_the_session_timeout(capture, name):
    """Heartbeats and commits refresh a session; it runs out that long after the last."""
    for member, at_us, session_us in evictions(capture(name)):
        contact = last_contact(capture(name), member, at_us - session_us + 2_000)

        assert abs(at_us - contact.at_us - session_us) < 20_000


@pytest.mark.long
def test_every_eviction_follows_the_last_contact_by_the_session_timeout(comparable_capture):
    """The same holds on every comparable capture at hand."""
    run = comparable_capture
    for member, at_us, session_us in evictions(run):
        contact = last_contact(run, member, run.fault_us)

        assert abs(at_us - contact.at_us - session_us) < 150_000


def test_the_last_contact_says_what_it_was(capture):
    """Commits count like heartbeats; before a member's start there is none."""
    run = capture("nocommit-eager-join/run-1")

    assert last_contact(run, "m1", run.fault_us + 1_018_000).by == "OffsetCommit"
    assert last_contact(run, "m4", run.fault_us) is None


def test_the_leaders_last_metadata_refresh_is_inferred(capture):
    """It lay one ``metadata.max.age.ms`` before the leader noticed the new partitions."""
    run = capture("latest-increase-range/run-1")
    leader = group_leaders(run)[1]
    refreshed_us = last_metadata_refresh(run, leader, run.fault_us)

    assert leader == "m2"
    assert -3_919_000 < refreshed_us - run.fault_us < -3_917_000
    others = last_metadata_refresh(run, "m1", run.fault_us)
    assert run.fault_us - 5_000_000 < others <= run.fault_us


def test_records_are_due_when_the_schedule_says(capture):
    """Partitions take turns tick by tick; added ones have a schedule of their own."""
    run = capture("latest-increase-range/run-1")
    plan, added = run.productions[0], run.additions[0]

    assert plan.start_us + 8_333 == due_us(plan, 1, 0)
    assert plan.start_us + 6 * 8_333_333 // 1000 == due_us(plan, 0, 1)
    assert added.start_us + 16_666 == due_us(added, 7, 0)


@pytest.mark.parametrize("name", [CRASH, "latest-increase-range/run-1", "precommit-crash/run-2"])
def test_the_ends_say_how_much_was_produced(capture, name):
    """Production stops up to a second before ``t_stop``: the ends decide, not that time."""
    for plan in capture(name).productions:
        for partition, end in enumerate(plan.ends[: plan.partitions]):
            last_us = due_us(plan, partition, end - plan.preload - 1)

            assert 0 < plan.stop_us - last_us < 1_000_000


def test_a_look_up_of_a_pattern_lasts_from_the_first_member_to_its_result(capture):
    """A thread of its own makes it, so other members join meanwhile."""
    run = capture("kip848-crash/run-1")
    assert 0 == pattern_time_us(run)
    said = {
        1_000: "Member a updated its subscribed regex to: t.*",
        3_000: "Member b updated its subscribed regex to: t.*",
        91_000: "Received updated regular expressions based on the context of member a",
    }
    lines = [replace(run.coordinator_log[0], at_us=at, text=text) for at, text in said.items()]
    assert 90_000 == pattern_time_us(replace(run, coordinator_log=tuple(lines)))
