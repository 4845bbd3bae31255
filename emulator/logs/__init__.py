"""Logs of real clusters: the offsets log, its import, and the audit of processing logs."""
