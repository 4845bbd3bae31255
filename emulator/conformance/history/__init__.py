"""Convert a captured run to the emulator's own events."""
