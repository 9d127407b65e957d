"""Propose a reading: the roles of a table's columns."""
