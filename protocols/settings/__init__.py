"""Settings of consumers, groups and brokers, under Kafka's names, with Kafka's defaults."""
