"""The coordinator of all groups of one offsets partition; the roof of the group side."""
