"""Clients whose partitions get new leaders in new leader epochs."""

from __future__ import annotations

from protocols.messages import (
    EpochStart,
    FetchRequest,
    OffsetCommitRequest,
    OffsetsForLeaderEpochRequest,
)

from .driver import ClientDriver, Sent, parts

ASK = OffsetsForLeaderEpochRequest
METADATA_AGE_MS = 2_000


def driven(**settings) -> ClientDriver:
    """A client whose topic has two partitions, both led by broker 1 in epoch 0."""
    given = {"enable_auto_commit": False, "metadata_max_age_ms": METADATA_AGE_MS, **settings}
    driver = ClientDriver(brokers=(1, 2), **given)
    driver.leaders = dict.fromkeys(parts(0, 1), 1)
    driver.leader_epochs = dict.fromkeys(parts(0, 1), 0)
    return driver


def starting(epoch: int, **settings) -> ClientDriver:
    """A member in poll whose partition was committed at 5, after a record of this epoch."""
    driver = driven(**settings)
    driver.join(0)
    driver.poll(100_000)
    driver.advance(150)
    driver.fetched({0: 5}, epoch=epoch)
    return driver


def reading(*numbers: int, **settings) -> ClientDriver:
    """Such a client, in poll, having read up to offset 8 in epoch 0 (with a reset before)."""
    driver = driven(**settings)
    at = dict.fromkeys(numbers or (0,), 5)
    driver.stable(at)
    driver.poll(100_000)
    driver.records(dict.fromkeys(at, 3), epochs=(EpochStart(0, 0),))
    driver.poll(100_000)
    driver.advance(1)
    return driver


def elected(driver: ClientDriver, leader: int = 2, epoch: int = 1, number: int = 0) -> None:
    """Elect another leader of a partition and update the metadata."""
    driver.leaders = {**driver.leaders, parts(number)[0]: leader}
    driver.leader_epochs = {**driver.leader_epochs, parts(number)[0]: epoch}
    driver.advance(METADATA_AGE_MS)


def moved(*numbers: int, **settings) -> ClientDriver:
    """A client that has read up to 8 in epoch 0 and asks the new leader, of epoch 1, about it."""
    driver = reading(*numbers, **settings)
    elected(driver)
    assert driver.pending(ASK)
    return driver


def fetches(driver: ClientDriver, node: int) -> list[tuple[int, int, int]]:
    """Return the fetches in flight to a broker: partition, offset, leader epoch."""
    sent = [s.message for s in driver.pending(FetchRequest) if s.node == node]
    return [
        (part.partition.partition, part.offset, part.current_leader_epoch)
        for request in sent
        for part in request.partitions
    ]


def committed(driver: ClientDriver) -> dict[int, tuple[int, int]]:
    """Return offset and leader epoch by partition of the last commit."""
    sent: Sent = driver.ever(OffsetCommitRequest)[-1]
    return {e.partition.partition: (e.offset, e.leader_epoch) for e in sent.message.offsets}
