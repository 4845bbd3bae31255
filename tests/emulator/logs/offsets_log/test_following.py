"""The state of groups after each record."""

from __future__ import annotations

from protocols.offsets_topic.records import GroupMetadataKey, Record
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)

from .segments import PRODUCER, batch, commit, followed, marker, written


def offsets_after(lines: list[dict]) -> list[dict]:
    return [line["after"].get("g", {}).get("offsets") for line in lines]


def test_a_transaction_is_pending_until_its_marker(tmp_path):
    """Then it counts, and the marker's line says for which groups."""
    data = (
        batch(commit(offset=5))
        + batch(commit(offset=8), commit("h", 9), at=1, producer=PRODUCER)
        + marker(3)
    )
    first, pending, other, end = followed(written(tmp_path, data))

    assert {"t": {0: 5}} == first["after"]["g"]["offsets"] == pending["after"]["g"]["offsets"]
    waiting = [{"producerId": 4000, "offsets": {"t": {0: 8}}}]
    assert waiting == pending["after"]["g"]["pendingOffsets"]
    assert {} == other["after"]["h"]["offsets"]
    assert ["g", "h"] == list(end["after"])
    assert {"t": {0: 8}} == end["after"]["g"]["offsets"]
    assert "pendingOffsets" not in end["after"]["g"]


def test_an_aborted_transaction_leaves_what_was(tmp_path):
    """The marker's line shows it."""
    data = (
        batch(commit(offset=5))
        + batch(commit(offset=8), at=1, producer=PRODUCER)
        + marker(2, is_committed=False)
    )

    assert [{"t": {0: 5}}] * 3 == offsets_after(followed(written(tmp_path, data)))


def test_a_group_that_is_gone_is_dead(tmp_path):
    """Kafka's word for a group that is not there."""
    data = batch(commit(), commit()._replace(value=None), Record(GroupMetadataKey("g"), None))
    simple, bare, dead = (line["after"]["g"] for line in followed(written(tmp_path, data)))

    assert ("classic", "Empty", "") == (simple["type"], simple["state"], simple["protocolType"])
    assert ({"t": {0: 5}}, {}) == (simple["offsets"], bare["offsets"])
    assert {"type": None, "state": "Dead", "offsets": {}} == dead


def test_a_record_at_which_a_load_fails_is_passed_over(tmp_path):
    """It says why, and the group stays as it was."""
    key = ConsumerGroupMetadataKey("g")
    data = batch(Record(key, ConsumerGroupMetadataValue(epoch=4)), Record(key, None))
    before, line = followed(written(tmp_path, data))

    assert "the group is deleted before its target epoch" == line["loadFails"]
    assert before["after"] == line["after"]
