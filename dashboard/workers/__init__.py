"""Processes beside the server's: what takes long is computed there, and pages are answered meanwhile."""
