"""Domain-independent basics: arrays, threads, files, distributions, errors."""
