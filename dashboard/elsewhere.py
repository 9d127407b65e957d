"""Deprecated name (0.3) of ``dashboard.integrations``: it warns, and is removed in 1.0."""

from calib_core._base.deprecation import old_name
from dashboard import integrations


def __getattr__(name: str) -> object:
    if name.startswith("__") or not hasattr(integrations, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    old_name(__name__, "calib.integrations", removed_in="1.0")
    return getattr(integrations, name)
