"""Real offsets logs as tables: what groups committed, who was in them, what could not be read.

``tables`` says which tables there are. From the bytes of a log to their rows: ``events_of``, with
``beside`` and ``group_rows`` for all that is no commit, ``selection`` for what is wanted and
``transactions`` for what counts. Where the bytes come from: ``segments`` finds and opens files;
``broker`` and ``live`` read a cluster and are imported only for one, with ``client_settings``.
``work`` reads one piece and ``store`` keeps what it comes to, whole or not at all; who shares the
pieces out, processes or Spark, is decided elsewhere. The other modules find out what the tables
say of groups, and do not know where they come from.
"""
