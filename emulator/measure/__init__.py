"""Events to ledger, metrics and checks; sees events alone."""
