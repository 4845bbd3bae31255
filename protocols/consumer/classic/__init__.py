"""The client side of the classic protocol, as the Java consumer plays it."""
