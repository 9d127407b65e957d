"""Answers as plain values that every room may name; they compute nothing but their own wording."""
