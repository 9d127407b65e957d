"""Checks that report doubtful points in a table of predictions."""
