"""Hints: what each cause, verdict and figure of a run suggests to change."""
