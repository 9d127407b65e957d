"""Predicted probabilities of binary outcomes, and their sums in cells."""
