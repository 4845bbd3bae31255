"""The examples of the description, and the vectors of an offset commit, each written out."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    decode,
    encode,
    expiring,
)
from protocols.offsets_topic.records.consumer import (
    AssignedPartitions,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from protocols.offsets_topic.records.wire import uuid_text

ORDERS = "5NQWC12cQ9qhnk8CMkFiZQ"
MEMBER = "hdrmPnHgTY2NS6u6hQ7scg"
MEMBER_HEX = "0016 6864726d506e48675459324e53367536685137736367"

EXAMPLES = {
    "offset commit": (
        Record(
            OffsetCommitKey("billing", "orders", 3),
            OffsetCommitValue(
                offset=1234567890123,
                leader_epoch=5,
                commit_timestamp=1767225600000,
                topic_id=ORDERS,
            ),
        ),
        "0001 0007 62696c6c696e67 0006 6f7264657273 00000003",
        (
            "0004 0000011f71fb04cb 00000005 01 0000019b76daa800"
            "01 00 10 e4d4160b5d9c43daa19e4f0232416265"
        ),
    ),
    "member of a consumer group": (
        Record(
            ConsumerGroupMemberMetadataKey("billing", MEMBER),
            ConsumerGroupMemberMetadataValue(
                instance_id=None,
                rack_id=None,
                client_id="consumer-billing-1",
                client_host="/127.0.0.1",
                subscribed_topic_names=("orders",),
                subscribed_topic_regex="",
                rebalance_timeout_ms=300_000,
                server_assignor=None,
                classic_member_metadata=None,
            ),
        ),
        f"0005 0007 62696c6c696e67 {MEMBER_HEX}",
        (
            "0000 00 00 13 636f6e73756d65722d62696c6c696e672d31 0b 2f3132372e302e302e31"
            "02 07 6f7264657273 01 000493e0 00 01 00 01 00"
        ),
    ),
    "current assignment": (
        Record(
            ConsumerGroupCurrentMemberAssignmentKey("billing", MEMBER),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=2,
                previous_member_epoch=0,
                state=0,
                assigned_partitions=(
                    AssignedPartitions(
                        topic_id=ORDERS, partitions=(0, 1, 2), assignment_epochs=(2, 2, 2)
                    ),
                ),
                partitions_pending_revocation=(),
            ),
        ),
        f"0008 0007 62696c6c696e67 {MEMBER_HEX}",
        (
            "0000 00000002 00000000 00 02 e4d4160b5d9c43daa19e4f0232416265"
            "04 00000000 00000001 00000002 01 00 0d 04 00000002 00000002 00000002 01 00"
        ),
    ),
    "classic group": (
        Record(
            GroupMetadataKey("billing"),
            GroupMetadataValue(
                protocol_type="consumer",
                generation=4,
                protocol="range",
                leader="consumer-g-1-4c7f",
                current_state_timestamp=1767225600000,
                members=(
                    MemberMetadata(
                        member_id="consumer-g-1-4c7f",
                        client_id="consumer-g-1",
                        client_host="/10.0.0.7",
                        rebalance_timeout=300_000,
                        session_timeout=45_000,
                        subscription=bytes.fromhex("000100000001000174ffffffff00000000"),
                        assignment=bytes.fromhex(
                            "00010000000100017400000002000000000000000100000000"
                        ),
                    ),
                ),
            ),
        ),
        "0002 0007 62696c6c696e67",
        (
            "0003 0008 636f6e73756d6572 00000004 0005 72616e6765"
            "0011 636f6e73756d65722d672d312d34633766 0000019b76daa800 00000001"
            "0011 636f6e73756d65722d672d312d34633766 ffff 000c 636f6e73756d65722d672d31"
            "0009 2f31302e302e302e37 000493e0 0000afc8"
            "00000011 000100000001000174ffffffff00000000"
            "00000019 00010000000100017400000002000000000000000100000000"
        ),
    ),
}
COMMIT = OffsetCommitValue(offset=100, commit_timestamp=1_700_000_000_000)
VECTORS = {
    "no epoch, no topic id": (
        COMMIT,
        "0004 0000000000000064 ffffffff 01 0000018bcfe56800 00",
    ),
    "epoch, metadata and topic id": (
        COMMIT._replace(
            leader_epoch=7,
            metadata="md",
            topic_id=uuid_text((1).to_bytes(8) + (2).to_bytes(8)),
        ),
        (
            "0004 0000000000000064 00000007 036d64 0000018bcfe56800"
            "01 00 10 00000000000000010000000000000002"
        ),
    ),
    "expire timestamp": (
        expiring(COMMIT._replace(leader_epoch=7), 1_700_000_009_999),
        "0001 0000000000000064 0000 0000018bcfe56800 0000018bcfe58f0f",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_worked_example_is_what_is_written_and_read(name):
    """Field by field as the description takes the bytes apart."""
    record, key, value = EXAMPLES[name]

    assert (bytes.fromhex(key), bytes.fromhex(value)) == encode(record)
    assert record == decode(bytes.fromhex(key), bytes.fromhex(value))


@pytest.mark.parametrize("name", VECTORS)
def test_an_offset_commit_is_written_as_its_vector(name):
    """The key is the same whatever the version of the value."""
    value, written = VECTORS[name]
    record = Record(OffsetCommitKey("g1", "t1", 3), value)
    key = bytes.fromhex("0001 0002 6731 0002 7431 00000003")

    assert (key, bytes.fromhex(written)) == encode(record)
    assert record == decode(key, bytes.fromhex(written))


def test_the_key_of_a_group_is_written_as_its_vector():
    """Its type and its id."""
    assert (bytes.fromhex("0002 0002 6731"), None) == encode(Record(GroupMetadataKey("g1"), None))
