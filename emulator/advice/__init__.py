"""Changes of settings that hints recommend, and trials of them with the same seeds."""
