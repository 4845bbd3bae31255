"""Captures of a real Kafka against the emulator, side by side."""
