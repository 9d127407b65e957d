"""Deprecated name (0.3) of ``dashboard.integrations``: it warns, and is removed in 1.0."""

import warnings

from dashboard import integrations


def __getattr__(name: str) -> object:
    if name.startswith("__") or not hasattr(integrations, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{__name__} is dashboard.integrations now; the old name is removed in 1.0", DeprecationWarning, stacklevel=2
    )
    return getattr(integrations, name)
