"""Tests of calibration, corrected for multiple testing."""
