"""Which column of a table is what."""
