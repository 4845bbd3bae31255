"""Names of the timers that a coordinator has for all its groups together."""

EXPIRE_OFFSETS = "expire-group-metadata"
OPERATION_TIMEOUT = "operation-timeout"
