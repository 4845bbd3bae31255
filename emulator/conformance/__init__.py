"""Compare captured runs of a real Kafka with the emulator."""
