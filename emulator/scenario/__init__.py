"""Scenario files: model, units, short forms, overrides, checks and the catalogue."""
