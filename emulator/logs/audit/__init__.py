"""Compute the ledger of a processing log: records reprocessed or lost, with consumer and time.

====================== ==========================================================================
module                 what it does
====================== ==========================================================================
``request``            the options, parsed and checked
``reading``            files in chunks: Parquet, JSON lines, CSV
``text``, ``csv_text`` text in blocks of whole rows, which several workers may share
``columns``, ``rows``  columns as arrays; rows in one form
``ranges``             rows as ranges of offsets; where ranges overlap
``passes``             the two passes over a log; the second only where records were reprocessed
``partitions``         the accounts of one partition, computed as those of a run
``commits``            the history of a group; ``committed`` reads it from an offsets log
``causes``, ``ledger`` causes, entries, expectations
``sequence``           what the logs show of an entry, in order of time
``screen``, ``page``   the report, on a terminal and as HTML
``output``             the JSON document, the folder
====================== ==========================================================================

All modules are functions of plain values; one process or Spark
(:mod:`emulator.spark.audit_ranges`) calls them. The public function is ``emulator.audit``.
"""
