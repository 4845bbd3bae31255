"""Segments of ``__consumer_offsets``: real segments are shown, those of a run are written.

The rules for bytes, records and groups are in ``protocols.offsets_topic``.

``finding``       the files of each log, and the bytes of a file, decompressed if necessary
``recognising``   whether a file is a segment of the offsets topic
``as_json``       batches, records and gaps with the names of Kafka's dump tool
``describing``    the state of each group after each record, as JSON values
``dumping``       a log as lines
``faults``        the parts that could not be read, counted and described
``writing``       the offsets log of a run as a folder of segments
``columns``       commits as Arrow columns, half a million a second; it alone needs numpy
"""
