"""The consumer rebalance protocol (KIP-848): group side here, client side in ``client``."""
