"""Compute metrics from events: one meter for each kind of figure."""
