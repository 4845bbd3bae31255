"""The log beneath ``__consumer_offsets``: batches of records as Kafka's brokers write them.

Pure rules: bytes and values in, bytes and values out; no file is opened, no clock is read.
What keys and values mean is not known here: a record is a log offset, a timestamp, two byte
strings and headers.

==================  =============================================================
``varint``          numbers of variable length
``record``          one record, and the loop that reads the records of a batch
``compression``     the five codecs, with a bound on what comes out
``header``          the 61 bytes before the records of a batch of format 2
``batch``           record batches: checksum, reading, writing
``sizes``           how large a batch is, without writing it
``marker``          control batches: the end of a transaction
``window``          the part of a stream that is in memory
``reader``          a stream as batches and named gaps, whatever its bytes are
``resync``          what is wrong at a position, and where reading can go on
``segment``         names of segment files, and when a new segment begins
``eligibility``     which part of a log may be compacted, and whether it should be
``transactions``    aborted transactions and last records of producers, as compaction needs them
``offset_map``      the newest log offset of each key
``cleaner``         one compaction: which records stay, in which bytes, in which segment
==================  =============================================================
"""
