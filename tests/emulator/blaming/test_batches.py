"""The size of batches, from the commits of consumers that always work."""

from __future__ import annotations

import pytest

from emulator.blaming.batches import sizes_of_batches
from emulator.blaming.case import case_of
from emulator.blaming.clients import batch_keys
from emulator.blaming.evidence import Evidence
from emulator.blaming.policies import policies
from protocols.consumer.clients import profile_of

from .incidents import SECOND, SETUP, evidence, steady

BUSY = steady("a", 0, 0, 60, every_s=0.01)


def commits(*offsets: int) -> list[tuple[float, int, int]]:
    """Return a commit of each of these offsets, one a second."""
    return [(place, 0, offset) for place, offset in enumerate(offsets, 1)]


def seen(*offsets: int) -> Evidence:
    """Return a consumer that works all the time, with commits of these offsets."""
    return evidence(BUSY, commits=commits(*offsets))


@pytest.mark.parametrize(
    ("offsets", "sizes"),
    [
        ((100, 200, 300, 400, 500, 600), (100,)),
        ((300, 500, 1_000, 1_200, 1_900), (100,)),
        ((500, 1_000, 2_000, 3_000), ()),
        ((100, 200, 300, 337, 437, 537, 637, 737), (100,)),
        ((117, 241, 322, 450, 571), (128,)),
        ((1_117, 2_243, 3_322, 4_451), ()),
        ((100, 200), ()),
        ((200, 400, 600, 800, 900, 1_100, 1_300), (200, 100)),
        ((500, 1_000, 1_500, 2_000, 2_102, 2_207), ()),
    ],
    ids=[
        "a batch",
        "several",
        "the default",
        "a fetch ends",
        "uneven",
        "uneven and large",
        "few",
        "two batches in most",
        "a backlog ends",
    ],
)
def test_commits_of_busy_consumers_cover_whole_batches(offsets, sizes):
    assert sizes_of_batches(seen(*offsets), 0, 60 * SECOND) == sizes


def test_the_partitions_of_one_request_count_together():
    """A batch of 90 with records of two partitions; the third one is another consumer's."""
    both = evidence(
        steady("a", 0, 0, 30, every_s=0.02),
        steady("a", 1, 0, 30, every_s=0.02),
        steady("b", 2, 0, 30, every_s=0.01),
        commits=[
            each
            for place in range(1, 9)
            for each in (
                (place, 0, place * 40),
                (place + 0.01, 1, place * 50),
                (place + 0.02, 2, place * 180),
            )
        ],
    )

    assert sizes_of_batches(both, 0, 60 * SECOND) == (90,)


def test_consumers_that_wait_for_records_say_nothing_of_their_batches():
    idle = evidence(steady("a", 0, 0, 60), commits=[(at, 0, at * 10) for at in range(5, 60, 5)])
    busy = evidence(
        BUSY, steady("a", 0, 70, 80, first=6_000), commits=commits(*range(100, 6_000, 100))
    )

    assert case_of(idle, SETUP).batches == ()
    assert case_of(busy, SETUP).batches == (100,)


def test_each_policy_is_tried_with_the_default_batch_and_with_the_one_seen():
    """But for calls that hand out one record, or all."""
    tried = [(each.reader, each.batch) for each in policies(seen(9, 18, 27), SETUP, batches=(100,))]

    assert {("java", None), ("java", 100), ("librdkafka with consume", 100)} <= set(tried)
    assert ("librdkafka with poll", 100) not in tried
    assert "java, automatic commits in batches of at most 100" in {
        each.words for each in policies(seen(9, 18, 27), SETUP, batches=(100,))
    }


@pytest.mark.parametrize(
    ("client", "call", "keys"),
    [
        ("java", None, {"settings": {"max.poll.records": 100}}),
        ("librdkafka", None, {"settings": {}}),
        ("librdkafka", "consume", {"settings": {}, "read_records": 100}),
        ("aiokafka", "getone", {"settings": {}}),
        ("aiokafka", "getmany", {"settings": {"max.poll.records": 100}}),
        ("franz-go", "PollRecords", {"settings": {}, "read_records": 100}),
    ],
)
def test_each_client_gets_its_batches_by_its_own_key(client, call, keys):
    assert batch_keys(profile_of(client), call, 100) == keys
    assert batch_keys(profile_of(client), call, None) == {"settings": {}}
