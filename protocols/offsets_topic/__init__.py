"""The topic ``__consumer_offsets``: its records, its segments, and the partition of a group."""
