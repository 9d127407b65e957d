"""Accuracy from answers that a judge marked and people a few of."""
