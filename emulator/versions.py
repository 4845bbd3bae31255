"""The versions in every file, JSON document and Parquet table."""

from __future__ import annotations

KAFKA = "4.4.0"
"""The version of Apache Kafka whose behaviour is emulated."""

SCHEMA_VERSION = 1
"""The version of the format of all output: files, JSON, Parquet."""
