"""The command `calib`, and what other packages may import of its dashboard. The library is `calib_core`."""

from calib_core import __version__ as __version__


def __getattr__(name: str) -> object:
    raise AttributeError(f"calib has no {name!r}: the library is calib_core (import calib_core as cc)")
