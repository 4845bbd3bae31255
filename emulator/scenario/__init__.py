"""What a user writes: models, units, overrides, the catalogue."""
