"""Brokers with their coordinators, topics, and the records of producers."""
