"""File formats: parsers from bytes to tables."""
