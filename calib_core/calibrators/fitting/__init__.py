"""Losses of the maps with their derivatives, and the solvers that minimize them."""
