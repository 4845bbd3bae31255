"""From a captured run to a scenario that may predict it."""
