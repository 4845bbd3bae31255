"""The client side of the consumer protocol: Java's ``AsyncKafkaConsumer`` (KIP-848)."""
