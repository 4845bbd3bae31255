"""Compute the ledger of a processing log: what was reprocessed or lost, by which consumer, when.

====================== ==========================================================================
module                 what it does
====================== ==========================================================================
``request``            the options, parsed and checked
``reading``            files in chunks: Parquet, JSON lines, CSV
``text``, ``csv_text`` text in blocks of whole rows, which several workers may share
``columns``, ``rows``  columns as arrays; rows in one form
``ranges``             rows as ranges of offsets; where ranges overlap
``passes``             the two passes over a log; the second only where records were reprocessed
``partitions``         the accounts of one partition, kept as those of a run
``commits``            the history of a group; ``committed`` reads it from an offsets log
``causes``, ``ledger`` causes, entries, expectations
``screen``, ``output`` the report, the JSON document, the folder
====================== ==========================================================================

All of it is functions of plain values, called by one process or by Spark
(:mod:`emulator.spark.audit_ranges`). The public function is ``emulator.audit``.
"""
