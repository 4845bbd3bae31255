"""Convert a captured run to a scenario that predicts it."""
