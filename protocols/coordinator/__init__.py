"""The coordinator of all groups of one offsets partition."""
