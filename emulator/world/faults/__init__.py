"""Faults and acts, and the moments they are aimed at."""
