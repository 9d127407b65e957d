"""Confidence intervals, by kind of estimator."""
