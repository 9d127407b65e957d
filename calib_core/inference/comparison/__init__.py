"""Two or more models on the same rows."""
