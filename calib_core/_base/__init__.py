"""Mechanics without domain: arrays, threads, files, distributions, errors."""
