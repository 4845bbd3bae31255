"""What coordinators of every group type share: turns, offsets, the log, the machine itself."""
