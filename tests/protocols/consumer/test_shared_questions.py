"""Direct questions to what clients of both protocols share: answers that a run asks for rarely."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.types import TopicPartition
from protocols.consumer import metadata
from protocols.consumer.clients import profile_of
from protocols.consumer.committing import has_succeeded
from protocols.consumer.fetch_buffer import in_record_order
from protocols.consumer.fetching import Fetcher
from protocols.consumer.lookup import Unknown
from protocols.consumer.positions import Phase
from protocols.consumer.requests import on_data_connection_lost
from protocols.machine import Step
from protocols.messages import (
    Envelope,
    FetchedRecords,
    FetchResponse,
    Header,
    HeartbeatResponse,
    LeaderAndEpoch,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitResponse,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import ConsumerSettings
from protocols.values import replace

from .classic.driver import ClientDriver, manual_member, parts
from .classic.elections import starting

E = ErrorCode


def fetcher(*numbers: int) -> Fetcher:
    """Return the data plane of a consumer that reads these partitions of broker 1 from 0."""
    made = Fetcher()
    made.positions.update_leaders(dict.fromkeys(parts(*numbers), LeaderAndEpoch(1, -1)))
    made.assign(parts(*numbers))
    made.positions.follow_leaders()
    for tp in parts(*numbers):
        made.positions.seek(tp, 0)
    return made


@pytest.mark.parametrize(
    ("client", "kafkas", "own"),
    [
        ("librdkafka", "fetch.max.wait.ms", "fetch.wait.max.ms"),
        ("aiokafka", "fetch.max.wait.ms", None),
        ("java", "fetch.max.wait.ms", None),
    ],
)
def test_a_setting_has_an_own_name_where_the_client_does_not_only_write_it_otherwise(
    client: str, kafkas: str, own: str | None
):
    """``fetch_max_wait_ms`` is Kafka's name in the style of Python."""
    assert own == profile_of(client).own_names.get(kafkas)


@pytest.mark.parametrize(
    ("client", "in_background", "commit_within_ms"),
    [("java", False, 60_000), ("librdkafka", True, 10_000), ("kafka-python", False, 60_000)],
)
def test_what_a_profile_says_of_threads_and_of_the_time_of_a_commit(
    client: str, in_background: bool, commit_within_ms: int
):
    """A commit is repeated for ``default.api.timeout.ms``, or for as long as a session lasts."""
    settings = ConsumerSettings(session_timeout_ms=10_000, default_api_timeout_ms=60_000)

    assert in_background is profile_of(client).in_background
    assert (client == "librdkafka") is profile_of(client).listener_first
    assert commit_within_ms == profile_of(client).commit_timeout_ms(settings)


def test_positions_are_found_by_their_phase_whatever_it_is():
    """Also if all are read."""
    positions = fetcher(0, 1).positions
    assert positions.all_reading()
    assert parts(0, 1) == positions.in_phase(Phase.READING) == positions.due(Phase.READING, 0)
    assert () == positions.in_phase(Phase.RESETTING) == positions.due(Phase.RESETTING, 0)

    positions.reset(parts(1)[0])
    assert parts(1) == positions.in_phase(Phase.RESETTING) == positions.due(Phase.RESETTING, 0)


def test_a_position_whose_leader_was_forgotten_does_not_follow_the_leaders():
    """They are what the client knows, and nothing is read from them."""
    positions = fetcher(0, 1).positions
    leaders = dict.fromkeys(parts(0, 1), LeaderAndEpoch(1, -1))
    assert positions.follows(leaders)

    positions.forget_leader(parts(0)[0])
    assert not positions.follows(leaders)


def test_nothing_is_fetched_while_all_partitions_are_about_to_be_revoked():
    made = fetcher(0)
    made.revoking = True
    assert [] == made.requests()

    made.revoking = False
    assert [1] == [broker for broker, _ in made.requests()]


def test_a_saved_fetcher_says_whether_records_were_taken_from_its_first_fetch():
    made = fetcher(0)
    assert not made.saved().drains
    made.requests()
    made.arrived(FetchResponse(1, (FetchedRecords(parts(0)[0], 0, 5),)))
    assert not made.saved().drains

    made.collect(2)
    assert made.saved().drains


@pytest.mark.parametrize("as_arrived", [True, False])
def test_records_come_as_they_arrived_or_in_the_order_of_the_java_client(as_arrived: bool):
    """Two partitions that a HashMap has the other way round."""
    given = [(tp, 0, 1) for tp in parts(0, 1)]
    arrived: list[TopicPartition] = [part[0] for part in reversed(in_record_order(given))]
    made = fetcher(0, 1)
    made.requests()
    made.arrived(FetchResponse(1, tuple(FetchedRecords(tp, 0, 1) for tp in arrived)))
    handed = made.collect(5, as_arrived=as_arrived)

    assert (arrived if as_arrived else arrived[::-1]) == [part.partition for part in handed]


@pytest.mark.parametrize(
    ("body", "succeeded"),
    [
        (OffsetCommitResponse(errors=((parts(0)[0], E.NONE),)), True),
        (OffsetCommitResponse(errors=((parts(0)[0], E.NOT_COORDINATOR),)), False),
        (HeartbeatResponse(), True),
        (HeartbeatResponse(error=E.REBALANCE_IN_PROGRESS), False),
        (SyncGroupResponse(), False),
    ],
)
def test_heartbeats_and_commits_in_flight_can_have_succeeded(body: Any, succeeded: bool):
    response = Envelope(Header("c", 7), body)

    assert succeeded is has_succeeded(response, {7: None})
    assert not has_succeeded(response, {8: None})


@pytest.mark.parametrize(("lost", "fails"), [(1, True), (2, False)])
def test_a_lookup_fails_with_the_connection_that_it_was_sent_on(lost: int, fails: bool):
    """One to another broker goes on."""
    driver = ClientDriver(brokers=(1, 2))
    state = replace(driver.state, coordinator=Unknown(lookup=7, asked_broker=1))
    failed = []

    def fail(state: Any) -> Step[Any]:
        failed.append(lost)
        return Step(state)

    on_data_connection_lost(state, driver.client.consumer, lost, fail, driver.now_us)
    assert fails is bool(failed)


@pytest.mark.parametrize(("epoch", "end"), [(-1, 3), (0, -1)])
def test_a_leader_that_knows_no_epoch_or_no_end_lets_the_position_be_reset(epoch: int, end: int):
    """``OffsetForEpochEndOffset``: either of them is undefined."""
    driver = starting(0)
    driver.advance(1_000)
    driver.ends({0: (epoch, end)})
    driver.advance(1_000)

    assert driver.pending(ListOffsetsRequest)


# -- responses to metadata -----------------------------------------------------------------------


def answered(later_us: int = 0, **known: Any) -> Any:
    """Return the metadata of a member behind an equivalent response, *later_us* after their age."""
    driver = manual_member(metadata_max_age_ms=60_000)
    reads = driver.state.reads
    now = (reads.metadata.fetched_us or 0) + 60_000_000 + later_us
    response = driver.metadata(MetadataRequest(topics=("t",)))
    before = replace(reads, metadata=replace(reads.metadata, **known))
    step = metadata.on_response(before, driver.client.consumer, response, now)
    return step.state.metadata


@pytest.mark.parametrize(("later_us", "equivalent"), [(-1, 4), (0, 1)])
def test_the_age_limit_ends_a_series_of_equivalent_responses(later_us: int, equivalent: int):
    assert equivalent == answered(later_us, equivalent=3).equivalent


@pytest.mark.parametrize(
    ("is_step", "was_seen", "seen"),
    [(True, True, False), (False, True, True), (False, False, False)],
)
def test_the_response_to_a_step_has_yet_to_be_seen(is_step: bool, was_seen: bool, seen: bool):
    """Until poll has applied it."""
    assert seen is answered(is_step=is_step, step_seen=was_seen).step_seen
