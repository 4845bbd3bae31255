"""The fields of JoinGroup and SyncGroup, and the states between them."""

from __future__ import annotations

import pytest

from protocols.consumer.classic.joining import on_sync_response
from protocols.consumer.classic.phases import JoinFailed, Joining, Synced
from protocols.consumer.classic.state import Api, Generation, InFlight, Membership
from protocols.consumer.clients import JAVA
from protocols.facts import ClientDropped
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import BROKER, MEMBER, ClientDriver, manual_member, parts

E = ErrorCode
BOTH = ("range", "cooperative-sticky")


def test_the_first_join_offers_every_assignor_in_order_of_preference():
    """It carries the timeouts, no id, no reason, and one subscription for each assignor."""
    driver = ClientDriver(
        assignors=BOTH, session_timeout_ms=7_000, max_poll_interval_ms=9_000, client_rack="r1"
    )
    driver.look_up()
    request = driver.one(JoinGroupRequest)
    (first, second) = request.protocols

    assert ("range", "cooperative-sticky") == (first.name, second.name)
    assert (7_000, 9_000) == (request.session_timeout_ms, request.rebalance_timeout_ms)
    assert ("", "", None) == (request.member_id, request.reason, request.group_instance_id)
    assert ("t",) == first.metadata.topics
    assert ((), -1, "r1") == (
        first.metadata.owned_partitions,
        first.metadata.generation_id,
        first.metadata.rack_id,
    )


def test_an_eager_member_claims_nothing_when_it_rejoins():
    """It has revoked all before, so it sends no owned partitions, but its last generation."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable(generation=4)
    driver.learn()
    driver.poll()
    claim = driver.one(JoinGroupRequest).protocols[0].metadata

    assert ((), 4) == (claim.owned_partitions, claim.generation_id)


def test_a_cooperative_member_claims_what_it_keeps():
    """Its subscription lists all it owns, with the generation that gave it."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable(generation=4)
    driver.learn()
    driver.poll()
    claim = driver.one(JoinGroupRequest).protocols[0].metadata

    assert (parts(0, 1), 4) == (claim.owned_partitions, claim.generation_id)


def test_the_claim_names_the_last_generation_joined_even_if_its_sync_failed():
    """A generation counts from its JoinGroup answer on."""
    driver = ClientDriver(assignors=("cooperative-sticky",), enable_auto_commit=False)
    driver.stable(generation=4)
    driver.learn()
    driver.poll()
    driver.joined(5)
    driver.poll()
    driver.synced(error=E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert 5 == driver.one(JoinGroupRequest).protocols[0].metadata.generation_id


def test_a_new_dynamic_member_joins_in_two_round_trips():
    """MEMBER_ID_REQUIRED brings an id; the join is repeated at once with it, and says so."""
    driver = ClientDriver()
    driver.poll(1_000)
    driver.join_error(E.MEMBER_ID_REQUIRED, "c-7")
    request = driver.one(JoinGroupRequest)

    assert "c-7" == request.member_id
    assert "need to re-join with the given member-id: c-7" == request.reason
    assert Generation(-1, "c-7") == driver.state.generation
    assert [] == driver.calls


@pytest.mark.parametrize(("rests", "members"), [(True, ["c-7"]), (False, ["c-7", ""])])
def test_a_client_whose_session_goes_on_while_it_joins_joins_as_a_new_member(rests, members):
    """The coordinator has let its JoinGroup wait for longer than its session."""
    driver = ClientDriver()
    profile = replace(JAVA, session_rests_in_join=rests)
    driver.client.consumer = replace(driver.client.consumer, profile=profile)
    driver.poll(1_000)
    driver.join_error(E.MEMBER_ID_REQUIRED, "c-7")

    driver.advance(46_000)
    driver.poll(1_000)

    assert members == [sent.message.member_id for sent in driver.pending(JoinGroupRequest)]


def test_a_session_that_ends_behind_the_member_it_was_of_drops_it_no_second_time():
    """The answer to an older commit has told it while its JoinGroup is in flight."""
    driver = manual_member()
    profile = replace(JAVA, session_rests_in_join=False)
    driver.client.consumer = replace(driver.client.consumer, profile=profile)
    driver.commit_async({0: 5})
    driver.learn()
    driver.poll()
    driver.committed(E.UNKNOWN_MEMBER_ID)
    driver.poll()
    driver.advance(50_000)

    assert [dropped.reason for dropped in driver.emitted(ClientDropped)] == [
        "encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response"
    ]


def test_a_static_member_sends_its_instance_id_everywhere():
    """Join, sync, heartbeat and commit carry the group.instance.id."""
    driver = ClientDriver(group_instance_id="i-1")
    driver.stable({0: 0})
    driver.hand({0: 3})
    driver.advance(5_000)
    driver.poll()
    kinds = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, OffsetCommitRequest)

    assert {"i-1"} == {sent.message.group_instance_id for k in kinds for sent in driver.ever(k)}
    assert all(driver.ever(kind) for kind in kinds)


def test_reasons_are_cut_to_what_the_protocol_allows():
    """A reason longer than 255 characters is truncated."""
    driver = ClientDriver()
    driver.look_up()
    driver.join_error(E.MEMBER_ID_REQUIRED, "x" * 300)
    driver.poll()

    assert 255 == len(driver.one(JoinGroupRequest).reason)


def test_a_follower_syncs_without_assignments():
    """A follower asks for its own assignment, with the generation and protocol it was given."""
    driver = ClientDriver()
    driver.look_up()
    driver.joined(3)
    driver.poll()
    request = driver.one(SyncGroupRequest)

    assert (3, MEMBER, "range", ()) == (
        request.generation_id,
        request.member_id,
        request.protocol_name,
        request.assignments,
    )


def test_joining_survives_polls_that_return():
    """The join goes on where it was; no poll sends a second JoinGroup or SyncGroup."""
    driver = ClientDriver()
    driver.look_up()
    for _ in range(5):
        assert () == driver.poll()
    driver.joined()
    for _ in range(5):
        driver.poll()

    assert 1 == len(driver.ever(JoinGroupRequest))
    assert 1 == len(driver.ever(SyncGroupRequest))


def test_the_state_follows_the_answers():
    """Unjoined, preparing with the JoinGroup sent, completing with it answered, then stable."""
    driver = ClientDriver()
    seen = [driver.membership]
    driver.look_up()
    seen.append(driver.membership)
    driver.joined()
    driver.poll()
    seen.append(driver.membership)
    driver.synced(0)
    driver.poll()
    seen.append(driver.membership)

    assert [
        Membership.UNJOINED,
        Membership.PREPARING_REBALANCE,
        Membership.COMPLETING_REBALANCE,
        Membership.STABLE,
    ] == seen


@pytest.mark.parametrize(("rack", "sent"), [("r1", "r1"), ("", None)])
def test_the_subscription_has_the_rack_of_the_client(rack, sent):
    """The leader's assignor gets it; without client.rack there is none."""
    driver = ClientDriver(client_rack=rack)
    driver.look_up()

    subscriptions = [each.metadata for each in driver.one(JoinGroupRequest).protocols]
    assert {sent} == {each.rack_id for each in subscriptions}


@pytest.mark.parametrize(
    ("of_client", "of_process", "said_ms"),
    [(None, None, 9_000), (5_000, None, 5_000), (None, 7_000, 7_000), (5_000, 7_000, 5_000)],
)
def test_the_rebalance_timeout_is_that_of_the_client_or_process_before_the_setting(
    of_client, of_process, said_ms
):
    """Some clients always say the same; kafka-python and aiokafka have ``rebalance_timeout_ms``."""
    consumer = ClientDriver(max_poll_interval_ms=9_000).client.consumer
    profile = replace(consumer.profile, rebalance_timeout_ms=of_client)
    own = replace(consumer.own, rebalance_timeout_ms=of_process)

    assert said_ms == replace(consumer, profile=profile, own=own).rebalance_timeout_ms


@pytest.mark.parametrize(
    ("membership", "sent_in", "counts"),
    [
        (Membership.COMPLETING_REBALANCE, 1, True),
        (Membership.COMPLETING_REBALANCE, 0, False),
        (Membership.UNJOINED, 1, False),
    ],
)
def test_an_assignment_counts_in_its_own_generation_only(
    membership: Membership, sent_in: int, counts: bool
):
    """``SyncGroupResponseHandler`` compares the generation of the request, and the state."""
    driver = ClientDriver()
    now = Generation(1, MEMBER, "range")
    state = replace(driver.state, membership=membership, generation=now, future=Joining())
    flight = InFlight(Api.SYNC, BROKER, 0, now._replace(id=sent_in))
    response = SyncGroupResponse(assignment=parts(0))
    step = on_sync_response(state, driver.client.consumer, flight, response, 0)

    assert counts is isinstance(step.state.future, Synced)
    assert counts is not isinstance(step.state.future, JoinFailed)
