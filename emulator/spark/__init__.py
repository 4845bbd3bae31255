"""Studies, imports and audits on Spark: the only room that imports pyspark.

``environment`` finds a Java and checks the master, ``session`` starts Spark, ships our packages and
runs jobs, ``errors`` words what goes wrong. ``study_runs`` runs the chunks of a study.
``import_runs`` reads segments and live logs, with data sources for your own Spark programs;
``segment_finding`` and ``segment_reading`` read what only Spark's file systems reach;
``findings_runs`` analyses groups. ``audit_ranges`` audits files (``audit_files``) and tables
(``audit_tables``). Import these modules only where Spark is used.
"""
