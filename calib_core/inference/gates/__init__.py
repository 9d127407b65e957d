"""May a model pass, by a limit or a baseline."""
