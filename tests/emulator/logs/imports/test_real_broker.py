"""Imports from a real broker: what clients committed, as they say it and as Kafka's tool prints it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from emulator.logs.imports import live as cluster
from emulator.logs.imports.live import TOPIC

from ...cli.commands import rebalance
from ..offsets_log.segments import dumped_record
from . import real_broker

pytestmark = [
    pytest.mark.minutes,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning"),
]

PARTITIONS, RECORDS = 3, 60
Committed = dict[tuple[str, str, int], int]
"""The last committed offset, by group, topic and partition."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[real_broker.Broker]:
    """Start a broker with a topic full of records."""
    with real_broker.running(tmp_path_factory.mktemp("broker")) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        for made in admin.create_topics([NewTopic("orders", PARTITIONS, 1)]).values():
            made.result(30)
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for number in range(RECORDS):
            producer.produce("orders", b"order", partition=number % PARTITIONS)
        producer.flush(30)
        yield running


@pytest.fixture(scope="module")
def committed(broker) -> tuple[Committed, list[tuple[str, int, int]]]:
    """Let clients commit; return what each says of its group in the end, and every commit."""
    said, every = Committed(), list[tuple[str, int, int]]()
    for protocol in ("classic", "consumer"):
        _confluent(broker, f"librdkafka-{protocol}", protocol, said, every)
    _kafka_python(broker, "kafka-python", said, every)
    _transactions(broker, "in-transactions", said)
    return said, every


def _confluent(broker, group, protocol, said, every) -> None:
    client = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    client.subscribe(["orders"])
    for number in range(1, RECORDS + 1):
        message = client.poll(30)
        assert message is not None, "the broker gives records"
        assert message.error() is None
        if number % 7 == 0:
            done = client.commit(asynchronous=False)
            every += [(group, each.partition, each.offset) for each in done if each.offset >= 0]
    places = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    for each in client.committed(places, timeout=30):
        said[group, each.topic, each.partition] = each.offset
    client.close()


def _kafka_python(broker, group, said, every) -> None:
    from kafka import KafkaConsumer  # noqa: PLC0415  warns of its own doings when imported
    from kafka import TopicPartition as Place  # noqa: PLC0415  the same
    from kafka.structs import OffsetAndMetadata  # noqa: PLC0415  the same

    client = KafkaConsumer(
        "orders",
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    read = 0
    while read < RECORDS:
        for place, records in client.poll(1_000, max_records=11).items():
            read += len(records)
            offset = records[-1].offset + 1
            client.commit({place: OffsetAndMetadata(offset, "by hand", -1)})
            every.append((group, place.partition, offset))
    for number in range(PARTITIONS):
        said[group, "orders", number] = client.committed(Place("orders", number))
    client.close()


def _transactions(broker, group, said) -> None:
    """Commit offsets in transactions: one is kept, one is not."""
    client = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    client.subscribe(["orders"])
    while not client.assignment():
        client.poll(0.1)
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": group, "log_level": 2}
    )
    producer.init_transactions(30)
    for offset, end in ((5, producer.commit_transaction), (9, producer.abort_transaction)):
        producer.begin_transaction()
        place = TopicPartition("orders", 0, offset)
        producer.send_offsets_to_transaction([place], client.consumer_group_metadata(), 30)
        end(30)
    said[group, "orders", 0] = 5
    client.close()


def last_offsets(rows: list[dict[str, Any]]) -> Committed:
    """Return the last offset that counts, as a coordinator would answer with it."""
    last = Committed()
    for row in sorted(rows, key=lambda each: each["log_offset"]):
        if row["transaction"] not in {"aborted", "pending"}:
            last[row["group"], row["topic"], row["partition"]] = row["offset"]
    return last


def imported(folder: Path, *arguments: object) -> tuple[list[dict], list[dict]]:
    """Return the commits and the other records of an import."""
    answer = rebalance("import", *arguments, "-o", folder)
    assert (0, "") == (answer.status, answer.err)
    return tuple(pq.read_table(folder / name).to_pylist() for name in ("commits", "groups"))


def test_a_live_import_is_what_the_clients_committed(broker, committed, tmp_path):
    """Every commit of theirs, and in the end what they say is committed."""
    said, every = committed

    rows, groups = imported(tmp_path / "live", "--bootstrap", broker.bootstrap)

    groups_said = {group for group, _, _ in said}
    assert said == last_offsets([row for row in rows if row["group"] in groups_said])
    own = {group for group, _, _ in every}
    seen = [(row["group"], row["partition"], row["offset"]) for row in rows if row["group"] in own]
    assert sorted(set(every)) == sorted(set(seen))
    assert [9] == [row["offset"] for row in rows if row["transaction"] == "aborted"]
    assert {"by hand"} == {row["metadata"] for row in rows if row["group"] == "kafka-python"}
    kinds = {row["group"]: row["kind"] for row in groups}
    assert "GroupMetadata" == kinds["kafka-python"]
    assert kinds["librdkafka-consumer"].startswith("ConsumerGroup")


def test_an_import_is_what_kafkas_own_tool_prints(broker, committed, tmp_path):
    """Record by record, of the broker's files; live, the same but for what clients do not see."""
    del committed
    live = imported(tmp_path / "live", "--bootstrap", broker.bootstrap)
    rows, groups = imported(tmp_path / "files", broker.logs)

    printed, keys = [], []
    for path in sorted(broker.logs.glob(f"{TOPIC}-*/*.log")):
        partition = int(path.parent.name.rpartition("-")[2])
        for line in broker.dumped(path):
            if line.startswith("| offset:") and "endTxnMarker" not in line:
                record = dumped_record(line)
                (printed if record["key"]["type"] in {"0", "1", 0, 1} else keys).append(
                    (partition, record)
                )
    assert [shown_commit(*each) for each in printed] == [
        as_printed(row) for row in sorted(rows, key=place_of)
    ]
    assert [(partition, record["offset"]) for partition, record in keys] == [
        place_of(row) for row in sorted(groups, key=place_of)
    ]
    assert sorted(groups, key=place_of) == sorted(live[1], key=place_of)
    unseen = {"producer_id": None, "transaction": None}
    assert [{**row, **unseen} for row in sorted(rows, key=place_of)] == [
        {**row, **unseen} for row in sorted(live[0], key=place_of)
    ]


def place_of(row: dict[str, Any]) -> tuple[int, int]:
    """Return where in the topic a row's record is."""
    return row["log_partition"], row["log_offset"]


def shown_commit(partition: int, record: dict[str, Any]) -> tuple[Any, ...]:
    """Return what the tool prints of a commit."""
    key, payload = record["key"]["data"], record["payload"]
    data = {} if payload == "<DELETE>" else payload["data"]
    place = (partition, record["offset"], record["CreateTime"])
    names = ("offset", "leaderEpoch", "metadata", "commitTimestamp")
    return (
        *(*place, key["group"], key["topic"], key["partition"]),
        *(data.get(name) for name in names),
    )


def as_printed(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the same of a row."""
    names = ("timestamp", "group", "topic", "partition", "offset", "leader_epoch", "metadata")
    return (*place_of(row), *(row[name] for name in names), row["commit_timestamp"])


@pytest.mark.soak
@pytest.mark.spark
def test_spark_reads_the_same_through_its_data_source(broker, committed, tmp_path):
    """Byte by byte; a partition of the topic is one of Spark's."""
    del committed
    pytest.importorskip("pyspark")
    here, there = tmp_path / "here", tmp_path / "there"
    command = [sys.executable, "-m", "emulator", "import", "--bootstrap", broker.bootstrap]
    command += ["--engine", "spark", "--master", "local[2]", "--json", "-o", str(there)]

    imported(here, "--bootstrap", broker.bootstrap)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)

    assert "spark" == json.loads(done.stdout)["engine"]
    for table in ("commits", "groups", "gaps"):
        files = [
            {path.name: path.read_bytes() for path in (folder / table).iterdir()}
            for folder in (here, there)
        ]
        assert files[0] == files[1]


def test_records_of_an_open_transaction_are_undecided(broker, tmp_path):
    """While it is open, and no longer."""
    chosen = ("--bootstrap", broker.bootstrap, "--group", "open")
    client = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "open"})
    client.subscribe(["orders"])
    while not client.assignment():
        client.poll(0.1)
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "open", "log_level": 2}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    place = TopicPartition("orders", 0, 5)
    producer.send_offsets_to_transaction([place], client.consumer_group_metadata(), 30)

    before, _ = imported(tmp_path / "before", *chosen)
    producer.commit_transaction(30)
    after, _ = imported(tmp_path / "after", *chosen)
    client.close()

    assert [(5, "undecided")] == [(row["offset"], row["transaction"]) for row in before]
    assert [(5, None)] == [(row["offset"], row["transaction"]) for row in after]


def test_groups_are_chosen_and_nothing_is_committed(broker, committed, tmp_path):
    """Importing twice gives the same: an import leaves nothing in the topic."""
    del committed
    chosen = ("--bootstrap", broker.bootstrap, "--group", "kafka-*", "--from", "2020-01-01")

    first = imported(tmp_path / "first", *chosen)
    second = imported(tmp_path / "second", *chosen)

    assert first == second
    assert {"kafka-python"} == {row["group"] for rows in first for row in rows}
    groups = AdminClient({"bootstrap.servers": broker.bootstrap}).list_consumer_groups().result(30)
    assert "rebalance-import" not in {each.group_id for each in groups.valid}


def login(user: str, password: str = "secret") -> list[str]:
    """Return the options for a user."""
    settings = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN"]
    settings += [f"sasl.username={user}", f"sasl.password={password}"]
    return [part for each in settings for part in ("--set", each)]


def test_reading_needs_the_right_to_read_the_topic_alone(broker, committed, tmp_path):
    """Without it, it is said who gives it; with it, no group is needed."""
    del committed
    target = ("--bootstrap", broker.sasl, "-o", tmp_path / "imported")
    without = rebalance("import", *target, *login("reader"))
    right = AclBinding(
        *(ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, "User:reader", "*"),
        *(AclOperation.READ, AclPermissionType.ALLOW),
    )
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for done in admin.create_acls([right]).values():
        done.result(30)

    given = rebalance("import", *target, *login("reader"))

    assert 2 == without.status
    assert f"--bootstrap {broker.sasl}: no permission to read the topic" in without.err
    assert "kafka-acls --add --operation Read" in without.err
    assert ("", 0) == (given.err, given.status)
    manifest = json.loads((tmp_path / "imported" / "manifest.json").read_text())
    assert manifest["is_live"]
    assert "secret" not in json.dumps(manifest)


def test_a_wrong_password_is_reported(broker, tmp_path, monkeypatch):
    """It is not repeated in the message."""
    target = ("--bootstrap", broker.sasl, "-o", tmp_path / "imported")
    monkeypatch.setattr(cluster, "PATIENCE_S", 2.0)

    answer = rebalance("import", *target, *login("reader", "guessed"))

    assert 2 == answer.status
    assert re.search("no answer within .* SASL authentication error", answer.err)
    assert "guessed" not in answer.err
