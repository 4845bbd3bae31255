"""Topics as a coordinator sees them, and the hash by which it notices a change."""

from __future__ import annotations

from protocols.groups.topics import TopicsImage
from protocols.messages import TopicDescription

REAL = TopicDescription("kip848-crash-1-cad7p.t0", "MqLAo9DuQMWcW0M5zgcNyw", (1,) * 6)
OTHER = TopicDescription("orders", "5NQWC11cQ9qhnk8CMkFiZQ", (1, 2))


def test_the_hash_is_the_one_a_real_broker_computed():
    """It is in the kept log of a real group."""
    assert -2931383523804514425 == TopicsImage([REAL]).hash_of([REAL.name])


def test_topics_that_do_not_exist_count_for_nothing():
    """None of them existing is 0."""
    image = TopicsImage([REAL])

    assert image.hash_of([REAL.name]) == image.hash_of(["none", REAL.name])
    assert 0 == image.hash_of(["none"]) == image.hash_of([])


def test_the_order_of_the_names_does_not_matter():
    """Topics are hashed in the order of their names."""
    image = TopicsImage([OTHER, REAL])

    assert image.hash_of([REAL.name, OTHER.name]) == image.hash_of([OTHER.name, REAL.name])


def test_inputs_of_an_assignment_change_the_hash():
    """Name, id, partitions and racks; the order of a partition's racks does not."""
    made = [
        OTHER,
        TopicDescription("orders", "5NQWC11cQ9qhnk8CMkFiZQ", (1, 2, 3)),
        TopicDescription("orders", "MqLAo9DuQMWcW0M5zgcNyw", (1, 2)),
        TopicDescription("orders", "5NQWC11cQ9qhnk8CMkFiZQ", (1, 2), racks=(("a", "b"), ())),
        TopicDescription("orders", "5NQWC11cQ9qhnk8CMkFiZQ", (1, 2), racks=(("ab",), ())),
        TopicDescription("orders", "5NQWC11cQ9qhnk8CMkFiZQ", (1, 2), racks=((), ("a", "b"))),
    ]
    hashes = [TopicsImage([topic]).hash_of(["orders"]) for topic in made]

    assert len(made) == len(set(hashes))
    turned = TopicDescription("orders", OTHER.topic_id, (1, 2), racks=(("b", "a"), ()))
    assert hashes[3] == TopicsImage([turned]).hash_of(["orders"])
    led = TopicDescription("orders", OTHER.topic_id, (3, 3))
    assert hashes[0] == TopicsImage([led]).hash_of(["orders"])


def test_an_image_knows_since_when_it_has_its_newest_topic():
    """Growth in partitions is none; the first image has none."""
    first = TopicsImage([OTHER], version=4)
    grown = first.followed_by([TopicDescription("orders", OTHER.topic_id, (1,) * 9)], 5)
    more = grown.followed_by([OTHER, REAL], 6)
    less = more.followed_by([OTHER], 7)

    assert [-1, -1, 6, 6] == [image.names_since for image in (first, grown, more, less)]
    assert {"orders", REAL.name} == grown.differs(more)
