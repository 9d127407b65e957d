"""Reproductions of the papers, and tables in their form."""

from typing import TYPE_CHECKING

from calib_core._base.lazy_modules import submodule

if TYPE_CHECKING:
    from calib_core.papers import reproductions, tables

__all__ = ["reproductions", "tables"]


def __getattr__(name: str) -> object:
    """Import a module of this package on first use."""
    return submodule(__name__, __all__, name)
