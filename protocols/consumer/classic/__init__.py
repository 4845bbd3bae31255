"""The client side of the classic protocol, as in the Java consumer (``ClassicKafkaConsumer``)."""
