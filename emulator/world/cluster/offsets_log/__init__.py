"""The log of an offsets partition: appended by its leader, stored on its replicas, compacted."""
