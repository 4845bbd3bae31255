"""Real offsets logs as tables, and findings about each group.

======================================= =========================================================
modules                                 what they do
======================================= =========================================================
``request``, ``pieces``                 the options, checked; segments and ranges of a live log
``live``, ``client_settings``           a live cluster; imported only for one
``rows``, ``group_rows``, ``tables``    bytes of a log as rows of tables
``reading``, ``store``                  one piece, read and written; the folder of an import
``generations``, ``progress``           the members and generations of a group; its commits
``reasons``, ``group_history``          reasons of rebalances; a group's history and status
``exploring``, ``folder``, ``assessing``  from tables to findings, in bounded memory
``values``, ``findings_tables``         findings as values, and as Parquet
``notices``, ``screen``, ``page``       findings as sentences, on a terminal, as an HTML page
``scenario_sketch``, ``scenario_file``  a group as a scenario
======================================= =========================================================

The public functions are ``emulator.import_log`` and ``emulator.group_scenario``.
"""
