"""A real group as a scenario to play."""
