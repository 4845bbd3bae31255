"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the classic group protocol, both sides."""
