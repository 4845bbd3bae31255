"""Checks of a scenario across its tables: each yields the problems that it finds."""
