"""Verdicts: what a run proves, what it was too short to show, and which group or member failed.

``facts`` follows the control events of a run; ``findings`` turns ledger, metrics and facts into a
list of verdicts. Screen, JSON and expectations use the same list.
"""
