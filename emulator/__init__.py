"""Replay failures of Kafka consumer groups and count what they repeat and lose."""
