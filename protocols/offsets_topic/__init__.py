"""The topic ``__consumer_offsets``: its records, its segments, their replay, and partitioning."""
