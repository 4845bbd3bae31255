"""Where an offsets log is read from, and how its bytes become rows."""
