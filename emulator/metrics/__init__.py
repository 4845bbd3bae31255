"""Events to metrics: one meter for each kind of figure."""
