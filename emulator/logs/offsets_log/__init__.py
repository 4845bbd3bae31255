"""Segments of ``__consumer_offsets``: real ones read for people, those of a run written.

Files are found and opened here, and what is in them is put into the words of Kafka's dump tool;
what bytes, records and groups are is known to ``protocols.offsets_topic.segments``, ``protocols.offsets_topic.records`` and
``protocols.offsets_topic.replay``.

``finding``     which files make up which logs
``opening``     a file as bytes, gunzipped if need be, whatever happens on the way
``recognising`` whether a file is a segment of the offsets topic at all
``words``       batches, records and gaps as the dump tool names them
``following``   a fold over records: what each group looks like after it
``describing``  a group as values that JSON can hold
``dumping``     a log line by line
``faults``      what could not be read, counted and told
``writing``     the offsets log of a run as a folder of segments
``columns``     commits as Arrow columns, half a million a second; needs numpy, the rest does not
"""
