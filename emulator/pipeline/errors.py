"""What can be wrong with Spark itself, said to people."""

from __future__ import annotations


class SparkError(Exception):
    """Spark cannot be used, or broke off; the message says why, and what helps."""
