"""Capture runs of a real Kafka: ``rebalance capture``.

An experiment is a scenario file. Its cluster is started on the loopback interface from Kafka's
published jars, its members as processes of their own that write a trace; its faults are signals,
starts, and orders to the cluster. The result is a folder in the form that ``rebalance verify``
reads. Nothing here is part of the emulator: time is the machine's, and no event, ledger or metric
of the emulator is used. Duplicates and losses are counted from the traces (``counting``).

========== =====================================================================
capturing  all runs of all experiments, cluster by cluster
plan       the experiment as plain values: members, topics, steps of its faults
experiment a scenario → a plan, or what of it cannot be captured
toolchain  Java, Maven, Kafka's jars and the compiled programs
children   processes that are ended, whatever happens
cluster    nodes of a KRaft cluster: settings, start, stop, signals, logs
members    the traced consumers, one process each
production records at a fixed rate
noise      how late the machine's threads are
traces     what the traces show while the run lasts
live, run  one run, from the creation of its topics to its files
files      the files of a run
counting   the summary of a run
========== =====================================================================
"""
