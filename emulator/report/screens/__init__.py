"""Screens: what a command prints of one run, one entry, many seeds."""
