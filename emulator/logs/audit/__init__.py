"""From a processing log to a ledger: what was processed twice, what never, by whom, when.

The stages, each a file: a log is read in chunks (:mod:`reading`; text in blocks of whole rows,
:mod:`text`, which many may share, :mod:`spans`) whose rows are brought into one form
(:mod:`rows`); rows become ranges (:mod:`ranges`); the ranges of a partition show where it was
processed more than once (:mod:`survey`); there the rows are read once more, cut finely enough to
tell who was first; then each partition has its books kept (:mod:`partitions`), by the accounting
of :mod:`emulator.measure`. Committed offsets, where there are any, tell causes (:mod:`judging`).

All of it is plain functions of plain values: one process or Spark may call them.
"""
