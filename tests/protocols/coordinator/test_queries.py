"""What the host of a coordinator asks it, and tells it, beside requests."""

from __future__ import annotations

from ..groups.kip848.driver import GROUP, ConsumerGroupDriver, topic


def test_the_size_of_a_target_is_that_of_a_consumer_group():
    """Nothing has none."""
    it = ConsumerGroupDriver(topic("t", 6), topic("u", 2))
    it.join("A", "t", "u")
    it.join("B")

    assert (2, 8) == it.coordinator.target_size(GROUP)
    assert (0, 0) == it.coordinator.target_size("other")


def test_the_version_of_the_topics_is_that_of_the_cluster_or_the_next_one():
    """A coordinator by itself counts the changes."""
    it = ConsumerGroupDriver(topic("t"))
    versions = []
    for version in (None, 9, None):
        it.coordinator.topics_changed([topic("t"), topic("u")], version)
        versions.append(it.coordinator._broker.image.version)

    assert [versions[0], 9, 10] == versions
    assert versions[0] >= 1
