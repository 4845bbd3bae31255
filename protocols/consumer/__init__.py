"""What consumers of both group protocols do alike: where to read, whom to ask, what to commit."""
