"""Groups in the coordinator: the code shared by all group types; each type is a package."""
