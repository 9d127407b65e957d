"""Prediction files to try the dashboard with, read by `calib_core.datasets.demo`."""
