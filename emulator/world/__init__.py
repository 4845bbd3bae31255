"""One run in virtual time: network, brokers, offsets log, consumers, faults."""
