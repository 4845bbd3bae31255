"""Settings as real clients and frameworks write them, translated to those of a scenario."""
