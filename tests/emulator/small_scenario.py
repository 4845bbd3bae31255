"""The smallest scenario with a crash, for tests of what is done with a run."""

SMALL = """
title = "small"
run_for = "30s"
topic = [{ name = "orders", partitions = 2, rate = "5/s" }]
fault = [{ crash = "billing-1", at = "14s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 2
settings = { "session.timeout.ms" = "6s", "auto.offset.reset" = "earliest" }
"""
"""billing-1 processes 15 records after its last commit; billing-0 processes them again."""
