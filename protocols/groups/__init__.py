"""The group side: what groups of every type share; each type is a package of its own."""
