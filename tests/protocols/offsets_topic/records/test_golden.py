"""Byte for byte what Kafka 4.4.0 writes and reads."""

from __future__ import annotations

import pytest

from protocols.offsets_topic.records import RECORD_TYPES, Record, decode, encode
from protocols.offsets_topic.records.consumer import ConsumerGroupMetadataValue

from .golden import cases, key_of, value_of


def unhexed(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def record_of(case) -> Record:
    value = case["value"]
    held = None if value is None else value_of(case["type"], case["version"], value)
    return Record(key_of(case["type"], case["key"]), held)


RECORDS = cases("record")
IDS = [f"{case['id']}-{case['name']}" for case in RECORDS]


@pytest.mark.parametrize("case", RECORDS, ids=IDS)
def test_fields_become_the_bytes_that_kafka_writes(case):
    """Key and value, in the version the case names."""
    assert (unhexed(case["key_hex"]), unhexed(case["value_hex"])) == encode(record_of(case))


@pytest.mark.parametrize("case", RECORDS, ids=IDS)
def test_bytes_become_the_fields_that_kafka_reads(case):
    """Fields that the version lacks have their defaults."""
    assert record_of(case) == decode(unhexed(case["key_hex"]), unhexed(case["value_hex"]))


def test_every_type_and_version_has_a_case():
    """Nothing that 4.4 reads is left out."""
    shown = {(case["type"], case["version"]) for case in RECORDS if case["version"] is not None}

    assert shown == {
        (record_type.number, version)
        for record_type in RECORD_TYPES.values()
        for version in record_type.versions
    }


def test_an_unknown_tagged_field_is_kept_apart():
    """It is written back, so that an older reader loses nothing."""
    (case,) = cases("decode-record")
    key, value = unhexed(case["key_hex"]), unhexed(case["value_hex"])

    assert decode(key, value) == Record(
        key_of(case["type"], case["key"]),
        ConsumerGroupMetadataValue(epoch=2, metadata_hash=42, unknown_tags=((99, b"\xab\xcd"),)),
    )
    assert (key, value) == encode(decode(key, value))
