"""The ledger: which records a group reprocessed or lost, and why, computed from events alone.

``builder`` takes the events; ``ownership`` opens and judges epochs; ``causes`` holds the rules;
``attribution`` adds chain and root; ``coverage`` and ``accounts`` count ranges; ``commits`` and
``cluster`` follow offsets, topics and coordinators; ``closing`` settles the end of a run;
``entries`` are the values that come out.
"""
