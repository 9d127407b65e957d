"""Calibrators fitted on some rows and evaluated on others; what it costs and gains."""
