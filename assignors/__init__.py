"""Who gets which partition: Kafka's assignors as pure functions of plain values."""
