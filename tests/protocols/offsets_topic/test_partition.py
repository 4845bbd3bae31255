"""Which partition of the offsets topic a group belongs to."""

from __future__ import annotations

import pytest

from protocols.offsets_topic import partition_for


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [
        ("foo", 24),
        ("my-group", 12),
        ("test-group", 12),
        ("payments-service", 43),
        ("polygenelubricants", 0),
        ("\N{GRINNING FACE}", 49),
        ("", 0),
        ("crash-range-auto-1-hrkn4", 1),
        ("rolling-static-1-26gt5", 11),
        ("kip848-crash-1-cad7p", 4),
    ],
)
def test_a_groups_partition_is_its_hash_modulo_fifty(group_id: str, partition: int):
    """Worked examples, one whose hash has no absolute value, and three groups of a real Kafka."""
    assert partition == partition_for(group_id)


def test_the_topic_may_have_another_size():
    """The number of partitions it really has decides."""
    assert 101_574 % 7 == partition_for("foo", 7)
