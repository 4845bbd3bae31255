"""The partitions of topics: their logs, when records arrive in each, and what readers get from them."""
