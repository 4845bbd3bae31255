"""The ledger: which records a group reprocessed or lost, and why, computed from events alone.

``builder`` takes the events; ``ownership`` opens epochs and determines their causes; ``causes``
holds the rules; ``attribution`` adds chain and root; ``coverage`` and ``accounts`` count ranges;
``commits`` and ``cluster`` follow offsets, topics and coordinators; ``closing`` applies the end of
a run; ``entries`` defines the resulting values.
"""
