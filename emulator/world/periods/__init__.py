"""Whole periods of an undisturbed run, skipped instead of played.

Members of stable groups that read steady streams repeat the same steps. When all parts of a
run are in the state of one period before, later by that period and further by its records, every
period until the next disturbance is the same: its events are written with moved times and offsets,
and the run continues behind the last of them. A run has the same events with and without it
(``tests/emulator/world/periods/test_periods.py``).
"""
