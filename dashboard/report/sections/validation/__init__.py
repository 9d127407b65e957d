"""Sections of a report of an external validation, by the items of TRIPOD+AI."""
