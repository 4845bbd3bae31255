"""The rules: protocol machines without clock, I/O or randomness."""
