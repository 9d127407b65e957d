"""Middleware between the network and the page: access, identity, limits, and response headers."""
