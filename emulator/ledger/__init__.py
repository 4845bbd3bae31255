"""Events to the ledger: who processed what again or never, and why."""
