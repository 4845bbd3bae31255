"""A run as text for people."""
