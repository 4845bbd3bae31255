"""Members that subscribe to other topics, whose listeners throw, and that close in other ways."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    ActRefused,
    ConsumerStopped,
    EpochOpened,
    FaultBegan,
    FaultEnded,
    ListenerThrew,
    MemberRemoved,
    SubscriptionChanged,
)
from emulator.scenario.model import Seek
from emulator.scenario.problems import ScenarioError
from emulator.world.faults.on_positions import seek
from protocols.consumer.positions import UNSET

from ..stage import SECOND, Seen

TEXT = """
title = "staged"
run_for = "{run_for}"

[[topic]]
name = "t"
partitions = 6
rate = "4/s"

[[topic]]
name = "u"
partitions = 3
rate = "4/s"

[[group]]
id = "g"
topics = ["t"]
members = 3
work = "5ms"
settings = {{ "group.protocol" = "{protocol}", "auto.offset.reset" = "earliest" }}
{group}

[[fault]]
id = "x"
{fault}
"""
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@cache
def played(fault: str, protocol: str = "classic", group: str = "", run_for: str = "24s") -> Seen:
    text = TEXT.format(fault=fault, protocol=protocol, group=group, run_for=run_for)
    run = emulator.run(emulator.loads(text), 0)
    run.ledger.check()
    return Seen(run)


OTHER = 'subscribe = "g"\ntopics = ["u"]\nat = "9s"'


@BOTH
def test_each_member_reads_the_other_topics_from_its_next_poll_on(protocol):
    """All of the new topic is read from its beginning, and nothing of the old one any more."""
    seen = played(OTHER, protocol)
    changed = seen.all(SubscriptionChanged)
    opened = [event.what.partition for event in seen.after(9 * SECOND, EpochOpened)]

    assert ["g-0", "g-1", "g-2"] == sorted(event.what.consumer for event in changed)
    assert all(9 * SECOND <= event.at_us < 9.2 * SECOND for event in changed)
    assert {"u-0", "u-1", "u-2"} <= {str(partition) for partition in opened}
    assert {"u"} == {tp.topic for tp in opened if opened.index(tp) >= len(opened) - 3}
    assert 0 == seen.run.ledger.lost == seen.run.ledger.reprocessed


def test_members_take_their_turns():
    """In the order that is given, with the gap in between; who is not named stays."""
    seen = played(OTHER + '\norder = ["g-2", "g-0"]\ngap = "3s"')
    changed = seen.all(SubscriptionChanged)

    assert ["g-2", "g-0"] == [event.what.consumer for event in changed]
    assert 3 == pytest.approx((changed[1].at_us - changed[0].at_us) / SECOND, abs=0.2)


def test_a_process_that_starts_later_starts_with_the_new_topics():
    """A change of a member holds for its next process, too."""
    restart = '\n\n[[fault]]\nclose = "g-1"\nat = "12s"\nrestart_after = "1s"\n'
    seen = played(OTHER + restart)
    opened = seen.after(13 * SECOND, EpochOpened, consumer="g-1")

    assert {"u"} == {event.what.partition.topic for event in opened}


THROWS = 'fail_listener = "g-1"\nat = "1ms"\nfor = "9s"\n'


@BOTH
def test_a_process_dies_of_a_listener_that_throws(protocol):
    """The exception leaves poll() and is not caught."""
    seen = played(THROWS, protocol)
    stopped = seen.only(ConsumerStopped).what

    assert ("g-1", "failed") == (stopped.consumer, stopped.how)
    assert "KafkaException (its rebalance listener threw)" == stopped.reason
    assert 1 == len(seen.all(ListenerThrew))


@BOTH
def test_an_application_that_catches_it_reads_when_the_listener_works(protocol):
    """Nothing is read before; then everything that the member owns."""
    seen = played(THROWS + 'caught = true\nbackoff = "500ms"\n', protocol)
    threw = [event.at_us for event in seen.all(ListenerThrew)]
    opened = [event.at_us for event in seen.all(EpochOpened, consumer="g-1")]
    began, ended = seen.only(FaultBegan), seen.only(FaultEnded)

    assert [] == seen.all(ConsumerStopped)
    assert len(threw) > 5
    assert all(later - earlier >= SECOND // 2 for earlier, later in pairwise(threw))
    assert 9 * SECOND == ended.at_us - began.at_us
    assert min(opened) > ended.at_us


def test_a_client_that_joins_in_the_background_throws_before_it_calls_the_listener_again():
    """librdkafka: poll throws at once, although the join has not been completed."""
    group = 'client = "librdkafka"'
    threw = [event.at_us for event in played(THROWS, group=group).all(ListenerThrew)]
    caught = played(THROWS + 'caught = true\nbackoff = "500ms"\n', group=group)
    again = [event.at_us for event in caught.all(ListenerThrew)]

    assert 1 == len(threw)
    assert 5 < len(again) <= 9 * SECOND // (SECOND // 2) + 1


def test_only_the_calls_that_are_named_throw():
    """A listener that fails to give up takes what it gets."""
    seen = played(THROWS + 'call = "lost"\n')

    assert [] == seen.all(ListenerThrew)


@BOTH
@pytest.mark.parametrize(
    ("operation", "leaves"),
    [("DEFAULT", True), ("LEAVE_GROUP", True), ("REMAIN_IN_GROUP", False)],
)
def test_close_leaves_or_stays_as_configured(protocol, operation, leaves):
    """A member that stays is removed when its session expires."""
    group = f'close_operation = "{operation}"'
    seen = played('close = "g-1"\nat = "12s"', protocol, group, run_for="15s")
    removed = [event.what.why for event in seen.all(MemberRemoved)]

    assert "closed" == seen.only(ConsumerStopped).what.how
    assert (["left"] if leaves else []) == removed


SEEK = 'seek = "g-1"\nat = "15.01s"\n'
SOUGHT = "position sought"


@BOTH
def test_a_seek_back_reprocesses_what_the_member_owns(protocol):
    """Two partitions, ten records each; the other members are not concerned."""
    seen = played(SEEK + "shift_by = -10", protocol)
    opened = seen.after(15 * SECOND, EpochOpened, source="seek")
    began = seen.only(FaultBegan)

    assert {"g-1"} == {event.what.consumer for event in opened}
    assert {began.id} == {event.cause for event in opened}
    assert {SOUGHT: 20} == {
        entry.cause: seen.run.ledger.reprocessed for entry in seen.run.ledger.entries
    }


def test_a_seek_to_the_end_loses_what_the_member_has_not_processed():
    """The handler needs more time than there is: the backlog is skipped."""
    slow = 'work = { constant = "600ms" }'
    text = TEXT.format(fault=SEEK + 'to = "latest"', protocol="classic", group="", run_for="24s")
    run = emulator.run(emulator.loads(text.replace('work = "5ms"', slow)), 0)

    assert run.ledger.lost > 0
    assert {SOUGHT} == {str(entry.cause) for entry in run.ledger.entries}


def test_a_seek_of_one_partition_leaves_the_others():
    """A later seek of the same member before its next poll does not replace it."""
    fault = SEEK + 'topic = "t"\npartitions = [2]\nto = 3\n\n[[fault]]\nid = "y"\n'
    seen = played(fault + SEEK + 'topic = "t"\npartitions = [3]\nto_datetime = "10s"')
    opened = seen.after(15 * SECOND, EpochOpened, source="seek")
    found = {str(event.what.partition): event.what.offset for event in opened}

    assert {"t-2": 3, "t-3": 40} == found


def test_only_the_java_client_seeks():
    with pytest.raises(ScenarioError, match="only members with the Java client seek"):
        played(SEEK + "shift_by = -10", group='client = "librdkafka"')


NOT_ASSIGNED = 'topic = "t"\npartitions = [5]\n'


def test_a_seek_on_partitions_of_others_is_reported_and_leaves_the_run_inconclusive():
    """Kafka throws IllegalStateException: No current assignment for partition."""
    seen = played(SEEK + NOT_ASSIGNED + "to = 3")

    assert "g-1 owned none of these partitions" == seen.only(ActRefused).what.why
    assert [] == seen.after(15 * SECOND, EpochOpened, source="seek")
    assert any("x did not fire" in reason for reason in seen.run.why)


def test_a_seek_on_partitions_of_which_one_is_of_others_moves_the_rest():
    seen = played(SEEK + 'topic = "t"\npartitions = [2, 5]\nto = 3')

    assert "g-1 did not own t-5" == seen.only(ActRefused).what.why
    assert "t-2" == str(seen.only(EpochOpened, source="seek").what.partition)
    assert not any("did not fire" in reason for reason in seen.run.why)


def test_a_position_that_is_being_reset_is_not_shifted():
    """There is none to shift from; position() would wait for it."""
    tp, said = TopicPartition("t", 0), []
    process = SimpleNamespace(
        client=SimpleNamespace(
            consumer=SimpleNamespace(
                positions=SimpleNamespace(readings={tp: SimpleNamespace(position=UNSET)})
            )
        ),
        progress=SimpleNamespace(owned=(tp, TopicPartition("t", 1))),
        run=SimpleNamespace(
            kernel=SimpleNamespace(now=SECOND),
            recorder=SimpleNamespace(write=lambda what, _: said.append(what.why)),
        ),
        blueprint=SimpleNamespace(group=SimpleNamespace(id="g")),
    )
    seek(process, Seek(id="x", member="g-0", at=SECOND, shift_by=-5), SimpleNamespace(find=str), 7)

    assert ["g-0 had no position of t-0 to shift"] == said


def test_a_seek_beyond_the_end_is_named_as_the_cause_of_what_the_reset_skips():
    """Not the missing offset, and not the setting that moved the position to the end."""
    slow = TEXT.replace('"auto.offset.reset" = "earliest"', '"auto.offset.reset" = "latest"')
    slow = slow.replace('work = "5ms"', 'work = {{ constant = "600ms" }}')
    text = slow.format(fault=SEEK + "to = 999999", protocol="classic", group="", run_for="24s")
    run = emulator.run(emulator.loads(text), 0)

    assert run.ledger.lost > 0
    assert {("position sought", "outside the log, reset to latest")} == {
        (str(entry.cause), entry.detail) for entry in run.ledger.entries
    }


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ('to_datetime = "2026-01-01T00:00"', 'a time of the run is needed, such as "3min"'),
        ("to_datetime = 2026-01-01", "not a date"),
        ('to = "start"', 'allowed is "earliest", "latest", or an offset'),
    ],
)
def test_a_target_that_is_not_understood_says_what_is_allowed(target, error):
    with pytest.raises(ScenarioError, match=error):
        played(SEEK + target)
