"""Faults and acts, and the moments at which they begin."""
