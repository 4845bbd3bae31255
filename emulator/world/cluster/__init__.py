"""Brokers with their coordinators, topics, and what producers write."""
