"""What a captured run is made of, read and checked."""
