"""The bytes of a file become a table."""
