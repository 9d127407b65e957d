"""Calibration in a test suite of pytest."""
