"""Registries of open families, their parameters, and the works cited."""
