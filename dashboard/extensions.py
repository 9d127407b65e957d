"""Extension packages that add methods, exhibits and views: installed with an entry point or named by --with.

A package registers its additions when it is imported. Links and files can never load a package.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from importlib.metadata import entry_points

GROUP = "calib.extensions"
"""Entry-point group; the value of each entry is the name of a module."""
OWN = ("calib_core", __name__.partition(".")[0])
"""The packages of this project; the second is `dashboard` in the repository, and `calib` in a wheel."""

_lock = threading.RLock()
_failures: list[str] | None = None
_modules: dict[str, None] = {}
_named: dict[str, None] = {}


class ExtensionError(Exception):
    """Error for a package that cannot be loaded; its message names the package, the reason and the remedy."""


def load_installed() -> tuple[str, ...]:
    """Import every module that an installed package declares as an extension.

    Entry points are looked up once in a process. A module that fails stops nothing.

    Returns
    -------
    tuple of str
        A sentence for each module that could not be imported.
    """
    global _failures
    with _lock:
        if _failures is None:
            _failures = []
            for point in entry_points(group=GROUP):
                if why := _imported(point.module):
                    _failures.append(
                        f"The installed extension {point.module!r} could not be loaded ({why}). "
                        "Update it or uninstall it; everything else works without it."
                    )
        return tuple(_failures)


def load(name: str) -> None:
    """Import a package by name, also from the working directory.

    Raises
    ------
    ExtensionError
        Where there is no such package, or importing it fails.

    >>> load("my exhibits.py")
    Traceback (most recent call last):
    ...
    dashboard.extensions.ExtensionError: 'my exhibits.py' is not a package name. Give the name that Python imports, ...
    """
    if not all(part.isidentifier() for part in name.split(".")):
        raise ExtensionError(f"{name!r} is not a package name. Give the name that Python imports, such as my_exhibits.")
    with _lock:
        if os.getcwd() not in map(os.path.abspath, sys.path):
            sys.path.append(os.getcwd())  # last, so that no file here hides an installed package
        if why := _imported(name):
            raise ExtensionError(
                f"The package {name!r} could not be loaded ({why}). Install what is missing, or correct the name."
            )
        _named[name] = None


def named() -> tuple[str, ...]:
    """Return the names of the packages that `load` imported, in order."""
    return tuple(_named)


def modules() -> tuple[str, ...]:
    """Return the names of all extension modules; worker processes import them too."""
    return tuple(_modules)


def package_of(thing: type | None) -> str:
    """Return the name of the package that a class comes from; empty for this project and for unknown origins.

    >>> package_of(threading.Thread), package_of(ExtensionError)
    ('threading', '')
    """
    package = "" if thing is None else thing.__module__.partition(".")[0]
    return "" if package in OWN else package


def _imported(module: str) -> str:
    """Import a module; return the reason if that failed, otherwise an empty text."""
    try:
        import_module(module)
    except (Exception, SystemExit) as why:  # Code of other packages can raise anything.
        return f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    _modules[module] = None
    return ""
