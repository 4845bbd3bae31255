"""The partition assignors of Kafka's clients and coordinator, and custom assignors.

Each is a pure function of plain values: topics and subscriptions in, the partitions of each member
out, in Java's order.
"""
