"""A captured run as the emulator's own events."""
