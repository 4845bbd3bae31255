"""What is worth knowing of a group, and how it is shown."""
