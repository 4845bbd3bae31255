"""The log of ``__consumer_offsets``: batches of records as Kafka's brokers write them.

Pure rules: bytes and values in, bytes and values out; no file is opened, no clock is read.
Keys and values are not interpreted here: a record is a log offset, a timestamp, two byte
strings and headers.

==================  =============================================================
``record``          varints, one record, and the loop that reads the records of a batch
``compression``     the five codecs, with a bound on the decompressed size
``header``          the 61 bytes before the records of a batch of format 2
``batch``           record batches: checksum, size, reading, writing
``transactions``    control batches, and the transactions that compaction must respect
``reader``          a stream as batches and gaps, for any bytes
``resync``          the fault at a position, and the position at which reading resumes
``segment``         names of segment files, when a segment rolls, which part can be compacted
``offset_map``      the newest log offset of each key
``cleaner``         one compaction: the records that are kept, their bytes and segments
==================  =============================================================
"""
