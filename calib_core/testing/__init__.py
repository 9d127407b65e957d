"""Calibration checks in pytest test suites."""
