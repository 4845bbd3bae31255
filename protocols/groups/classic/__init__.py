"""The classic group protocol in the coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""
