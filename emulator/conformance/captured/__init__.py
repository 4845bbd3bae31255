"""Read and check the files of a captured run."""
