"""The leader's part: it assigns for all, and its assignor's failures are its own."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.errors import AssignorDefectError, Defect
from assignors.types import (
    Assigned,
    Assignment,
    RebalanceProtocol,
    Subscription,
    Subscriptions,
    TopicPartition,
    Topics,
)
from protocols.consumer.calls import Failed
from protocols.consumer.classic.background import BackgroundClient
from protocols.consumer.classic.machine import Client
from protocols.consumer.clients import profile_of
from protocols.facts import AssignmentWarning, AssignorFailed
from protocols.messages import (
    JoinGroupRequest,
    MetadataRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import MEMBER, ClientDriver, parts

OTHER = "m-other"
DEFECT = AssignorDefectError(next(iter(Defect)), "a made-up input")


class Plugin:
    """An assignor that answers what a test wants."""

    name = "plug-in"

    def __init__(self, answer: Any, *protocols: RebalanceProtocol) -> None:
        self.rebalance_protocols = protocols or (RebalanceProtocol.EAGER,)
        self.answer = answer
        self.asked: list[tuple[Topics, Subscriptions]] = []
        self.assigned: list[tuple[tuple[TopicPartition, ...], int]] = []

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:
        return ",".join(sorted(topics)).encode()

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        self.asked.append((topics, subscriptions))
        if isinstance(self.answer, Exception):
            raise self.answer
        given: Assignment = dict(self.answer)
        return given

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        self.assigned.append((partitions, generation))


def elected(plugin: Any, **settings: Any) -> ClientDriver:
    """Return a member that has become the leader of itself and another member."""
    driver = ClientDriver(
        assignors=(plugin,), **{"enable_auto_commit": False, "topics": {"t": 4}, **settings}
    )
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    owned = Subscription(topics=("t",), owned_partitions=parts(2, 3), generation_id=0)
    driver.joined(1, members={MEMBER: mine, OTHER: owned}, member=MEMBER)
    driver.poll()
    return driver


def test_the_leader_sends_the_assignment_of_all_members():
    """It runs the selected assignor on all subscriptions, and syncs with the result."""
    driver = elected("range")
    given = dict(driver.one(SyncGroupRequest).assignments)

    assert {MEMBER: parts(0, 1), OTHER: parts(2, 3)} == given


def test_the_assignor_sees_partition_counts_and_subscriptions():
    """With the user data each member's own assignor wrote."""
    plugin = Plugin({MEMBER: parts(0, 1, 2, 3), OTHER: ()})
    elected(plugin)
    ((topics, subscriptions),) = plugin.asked

    assert {"t": 4} == dict(topics.partition_counts)
    assert [MEMBER, OTHER] == list(subscriptions)
    assert b"t" == subscriptions[MEMBER].user_data


def test_every_member_passes_its_assignment_to_its_assignor():
    """With the generation, before the listener is called."""
    plugin = Plugin({})
    driver = ClientDriver(assignors=(plugin,))
    heard = []
    driver.on_call = lambda _: heard.append(list(plugin.assigned))
    driver.join(0, generation=6)

    assert [[(parts(0), 6)]] == heard


class Sending(Plugin):
    """A plug-in that takes user data back."""

    def on_assignment(self, partitions, generation, user_data=b"none"):
        self.assigned.append((partitions, generation, user_data))


def test_user_data_goes_to_the_members_that_the_leader_sends_it_to():
    """In SyncGroup, beside the partitions; members without any have no entry."""
    plugin = Sending({MEMBER: Assigned(parts(0), b"7"), OTHER: Assigned(parts(1))})
    request = elected(plugin).one(SyncGroupRequest)

    assert {MEMBER: parts(0), OTHER: parts(1)} == dict(request.assignments)
    assert ((MEMBER, b"7"),) == request.user_data


@pytest.mark.parametrize(("sent", "told"), [(b"7", b"7"), (None, b"none")])
def test_on_assignment_gets_the_user_data_if_there_is_any(sent, told):
    """Else it is called with two arguments: most plug-ins take no third one."""
    plugin = Sending({MEMBER: Assigned(parts(0)), OTHER: Assigned(parts(1))})
    driver = elected(plugin)
    driver.answer(SyncGroupRequest, SyncGroupResponse(assignment=parts(0), user_data=sent))
    driver.poll()

    assert [(parts(0), 1, told)] == plugin.assigned


def test_a_defect_of_the_assignor_is_thrown_from_poll():
    """No member gets an assignment; the event has the assignor and the reason."""
    driver = elected(Plugin(DEFECT))
    (fact,) = driver.emitted(AssignorFailed)

    assert ("plug-in", str(DEFECT)) == (fact.assignor, fact.message)
    assert Failed("KafkaException") == driver.returned[-1]
    assert [] == driver.pending(SyncGroupRequest)


def test_after_it_a_later_poll_joins_again():
    """Member id and generation are kept, the failure is the reason."""
    driver = elected(Plugin(DEFECT))
    driver.poll()
    request = driver.one(JoinGroupRequest)

    assert (MEMBER, "rebalance failed due to KafkaException") == (
        request.member_id,
        request.reason,
    )


@pytest.mark.parametrize(
    ("answer", "violates"),
    [
        ({MEMBER: parts(0, 1, 2), OTHER: parts(3)}, True),
        ({MEMBER: parts(0, 1), OTHER: parts(2, 3)}, False),
        ({MEMBER: parts(0, 1), OTHER: parts(3)}, False),
    ],
)
def test_a_cooperative_plug_in_may_not_move_what_is_still_owned(answer, violates):
    """A partition added to one member while another still owns it is an error."""
    plugin = Plugin(answer, RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE)
    driver = elected(plugin)

    assert violates == bool(driver.emitted(AssignorFailed))
    assert violates == (not driver.pending(SyncGroupRequest))
    if violates:
        assert Failed("IllegalStateException") == driver.returned[-1]


def test_the_same_move_is_an_eager_plug_ins_right():
    """Eager members own nothing while they join."""
    driver = elected(Plugin({MEMBER: parts(0, 1, 2), OTHER: parts(3)}))

    assert driver.pending(SyncGroupRequest)


def test_the_built_in_cooperative_assignor_withholds_what_moves():
    """A partition that moves between living owners has no owner in this generation."""
    driver = ClientDriver(
        assignors=("cooperative-sticky",), topics={"t": 4}, enable_auto_commit=False
    )
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    owned = Subscription(topics=("t",), owned_partitions=parts(0, 1, 2, 3), generation_id=5)
    driver.joined(6, members={MEMBER: mine, OTHER: owned}, member=MEMBER)
    driver.poll()
    given = dict(driver.one(SyncGroupRequest).assignments)

    assert (0, 2) == (len(given[MEMBER]), len(given[OTHER]))


def test_a_partition_assigned_twice_is_reported():
    """A warning, unless the plug-in declares that it shares on purpose."""
    answer = {MEMBER: parts(0, 1), OTHER: parts(1, 2, 3)}
    driver = elected(Plugin(answer))
    (fact,) = driver.emitted(AssignmentWarning)
    assert (parts(1)[0], (MEMBER, OTHER), 1) == (fact.partition, fact.member_ids, fact.generation)

    sharing = Plugin(answer)
    sharing.exclusive = False  # type: ignore[attr-defined]
    assert [] == elected(sharing).emitted(AssignmentWarning)


def test_a_follower_runs_no_assignor():
    """Only the leader is asked."""
    plugin = Plugin({})
    driver = ClientDriver(assignors=(plugin,))
    driver.join(0)

    assert [] == plugin.asked


def test_the_instance_ids_of_static_members_reach_the_assignor():
    """They come beside the subscription, not in it."""
    plugin = Plugin({MEMBER: parts(0, 1, 2, 3)})
    driver = ClientDriver(assignors=(plugin,), topics={"t": 4}, group_instance_id="i-1")
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(1, members={MEMBER: mine}, member=MEMBER, instances={MEMBER: "i-1"})
    driver.poll()
    ((_, subscriptions),) = plugin.asked

    assert "i-1" == subscriptions[MEMBER].group_instance_id


# -- dropping out while it waits for metadata ----------------------------------------------------


def awaiting(**settings: Any) -> ClientDriver:
    """A leader that waits for metadata of a topic only another member wants."""
    driver = ClientDriver(topics={"t": 2, "u": 3}, enable_auto_commit=False, **settings)
    driver.look_up()
    driver.deaf = {MetadataRequest}
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.joined(1, members={MEMBER: mine, OTHER: Subscription(topics=("u",))}, member=MEMBER)
    driver.poll()
    driver.advance_until(MetadataRequest)
    assert [] == driver.pending(SyncGroupRequest)
    return driver


def test_a_leader_does_not_join_again_for_the_metadata_that_it_has_waited_for():
    """They are those of its assignment."""
    driver = awaiting()
    driver.answer(MetadataRequest, driver.metadata(driver.one(MetadataRequest)))
    driver.poll()
    driver.synced(0)
    for _ in range(3):
        driver.poll()

    assert driver.state.rejoin is None
    assert [] == driver.pending(JoinGroupRequest)


@pytest.mark.parametrize(("name", "asks"), [("java", 0), ("librdkafka", 1)])
def test_only_the_leader_of_librdkafka_asks_for_metadata_without_a_back_off(name: str, asks: int):
    """Another member wants a topic that it does not know, right behind its last metadata."""
    driver = clients(name, topics={"t": 1, "u": 1})
    driver.look_up()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    before = len(driver.ever(MetadataRequest))
    driver.joined(1, members={MEMBER: mine, OTHER: Subscription(topics=("u",))}, member=MEMBER)
    driver.poll()

    assert before + asks == len(driver.ever(MetadataRequest))


def rejoined(driver: ClientDriver) -> Any:
    """Let the metadata arrive after all; the JoinGroup of the polls after that."""
    driver.answer(MetadataRequest, driver.metadata(driver.one(MetadataRequest)))
    driver.poll()
    driver.poll()

    assert [] == driver.ever(SyncGroupRequest)
    return driver.one(JoinGroupRequest)


@pytest.mark.parametrize(
    ("error", "member"), [(ErrorCode.UNKNOWN_MEMBER_ID, ""), (ErrorCode.ILLEGAL_GENERATION, MEMBER)]
)
def test_a_leader_reset_while_it_waits_for_metadata_joins_again(error, member):
    """Its assignment would be of an old generation."""
    driver = awaiting()
    driver.learn(error)
    request = rejoined(driver)

    assert (member, "rebalance failed due to IllegalGenerationException") == (
        request.member_id,
        request.reason,
    )


def test_a_leader_that_left_while_it_waited_for_metadata_joins_again():
    """The application came back to poll too late."""
    driver = awaiting(max_poll_interval_ms=5_000, heartbeat_interval_ms=300_000)
    driver.advance(5_100)

    assert "" == rejoined(driver).member_id


def test_a_leader_reset_while_poll_waits_joins_again_at_once():
    """Without waiting for the metadata."""
    driver = awaiting()
    driver.poll(100_000)
    driver.learn(ErrorCode.UNKNOWN_MEMBER_ID)

    assert "" == driver.one(JoinGroupRequest).member_id


def clients(name: str, **settings: Any) -> ClientDriver:
    """Return the driver of a new consumer of this client."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    consumer = replace(driver.client.consumer, profile=profile_of(name))
    in_background = consumer.profile.in_background
    driver.client = BackgroundClient(consumer, 500) if in_background else Client(consumer)  # type: ignore[assignment]
    return driver


def led(name: str, *topics: str) -> ClientDriver:
    """Return a leader by its client, which knows one partition of t; another member wants *topics*.

    Meanwhile t has got two more partitions.
    """
    driver = clients(name, topics={"t": 1})
    driver.look_up()
    driver.advance(1_000)
    driver.poll()
    mine = driver.one(JoinGroupRequest).protocols[0].metadata
    driver.topics = {"t": 3, "u": 1}
    driver.history.clear()
    others = {OTHER: Subscription(topics=topics)} if topics else {}
    driver.joined(1, members={MEMBER: mine, **others}, member=MEMBER)
    driver.poll_until(SyncGroupRequest)
    return driver


@pytest.mark.parametrize(
    ("name", "requests", "partitions"),
    [("java", 0, 1), ("aiokafka", 0, 1), ("librdkafka", 1, 3), ("kafka-python", 1, 1)],
)
def test_what_a_leader_does_about_its_metadata(name: str, requests: int, partitions: int):
    """The leader of librdkafka awaits new ones, that of kafka-python requests them beside."""
    driver = led(name)
    given = dict(driver.one(SyncGroupRequest).assignments)[MEMBER]

    assert partitions == len(given)
    assert requests == len(driver.ever(MetadataRequest))


def test_a_leader_that_awaits_nothing_joins_again_for_a_topic_of_another_member():
    """kafka-python assigns what it knows, and the requested metadata show the rest."""
    driver = led("kafka-python", "u")
    given = dict(driver.one(SyncGroupRequest).assignments)
    driver.poll(1)
    driver.answer(SyncGroupRequest, SyncGroupResponse(assignment=given[MEMBER]))
    driver.poll_until(JoinGroupRequest)

    assert not any(tp.topic == "u" for tps in given.values() for tp in tps)
    assert "cached metadata has changed" == driver.one(JoinGroupRequest).reason
