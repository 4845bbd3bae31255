"""Consumers: processes with a client, a poll loop and a handler."""
