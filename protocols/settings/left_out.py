"""Kafka's settings that this model has no part for, so that they can be told from misspellings."""

from __future__ import annotations

_NAMES = """
allow.auto.create.topics auto.include.jmx.reporter bootstrap.resolve.timeout.ms bootstrap.servers
check.crcs client.dns.lookup config.providers connections.max.idle.ms enable.metrics.push
exclude.internal.topics group.id interceptor.classes key.deserializer
metadata.cluster.check.enable metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
receive.buffer.bytes send.buffer.bytes socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms value.deserializer
auto.create.topics.enable broker.heartbeat.interval.ms controlled.shutdown.enable
controller.quorum.election.timeout.ms delete.topic.enable group.coordinator.append.linger.ms
group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
group.coordinator.rebalance.protocols group.coordinator.threads
log.cleaner.threads
log.retention.bytes log.retention.hours log.retention.minutes log.retention.ms log.roll.hours
log.segment.bytes message.max.bytes num.io.threads num.network.threads
num.partitions num.replica.fetchers offsets.load.buffer.size offsets.topic.compression.codec
replica.fetch.max.bytes replica.fetch.wait.max.ms
auto.leader.rebalance.enable leader.imbalance.check.interval.seconds
leader.imbalance.per.broker.percentage unclean.leader.election.interval.ms
"""
LEFT_OUT = frozenset(_NAMES.split())
"""Kafka's consumer and broker settings without a part in this model (``ssl.*``, ``sasl.*`` apart)."""
