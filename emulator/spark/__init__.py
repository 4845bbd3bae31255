"""Many runs and much data, on Spark: the one room that imports pyspark.

``java`` finds a Java that Spark can start with, ``session`` makes the session, ``shipping`` puts
our packages on its way to the executors, ``study_runs`` plays a study there. ``log_sources`` are
our own data sources for offsets logs, ``import_runs`` imports through them. ``jobs`` looks after
what runs. Everything else of the emulator works without Spark; import these modules only when they
are used.
"""
