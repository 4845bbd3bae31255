"""What stands for "none yet" in Kafka's messages."""

UNKNOWN_MEMBER_ID = ""
"""The member id of a first JoinGroup."""

UNKNOWN_GENERATION = -1
UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1
NO_LEADER = -1

CONSUMER_PROTOCOL_TYPE = "consumer"
