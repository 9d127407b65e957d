"""Load modules on first use, under their own names and, until 1.0, under their former names.

Also objects that lower packages use from packages above them; the top-level package defines their providers.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeAlias

from calib_core._base.deprecation import old_name

REMOVED_IN = "1.0"
"""Version without the names that modules had in 0.3."""


def submodule(package: str, public: Collection[str], name: str) -> ModuleType:
    """Return a public module of a package, for the package's ``__getattr__``.

    >>> submodule("calib_core", ["palette"], "palette").__name__
    'calib_core.palette'
    """
    if name not in public:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return import_module(f"{package}.{name}")


def home(homes: Mapping[str, Collection[str]], name: str) -> str | None:
    """Return the module, of those that map to their public names, that has a name; None if none has it.

    >>> home({"text": ("percent", "listed")}, "listed"), home({}, "listed")
    ('text', None)
    """
    return next((module for module, names in homes.items() if name in names), None)


def renamed(old: str, new: str) -> ModuleType:
    """Return the module ``new``, with a warning that it is no longer called ``old``."""
    old_name(old, new, REMOVED_IN, stacklevel=4)
    return import_module(new)


def moved_name(package: str, name: str, room: str) -> object:
    """Return a former name of the package from its new module, with a warning."""
    old, new = f"{package}.{name}", f"{package}.{room}.{name}"
    old_name(old, new, REMOVED_IN, stacklevel=4)
    return getattr(import_module(f"{package}.{room}"), name)


class OldName(ModuleType):
    """Module under its former name; imports from it come from the module's new location."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(old, f"Former name of ``{new}``; it will be removed in {REMOVED_IN}.")
        self.__dict__["_new"] = new

    def __getattr__(self, name: str) -> object:
        # Tools that search sys.modules read dunder names of every module, without wanting a function.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(renamed(self.__name__, self.__dict__["_new"]), name)
        return value


def keep_old_names(package: str, names: dict[str, str]) -> None:
    """Make modules importable under former names; ``names`` maps old to new names, without the package."""
    for old, new in names.items():
        sys.modules.setdefault(f"{package}.{old}", OldName(f"{package}.{old}", f"{package}.{new}"))


Provided: TypeAlias = Literal["inference", "calibrator text", "summary", "picture"]

PROVIDERS: dict[Provided, tuple[str, str]] = {}
"""Module and name of each provided object; filled by ``calib_core/__init__.py`` before any other module runs."""


REGISTRIES: dict[str, str] = {}
"""Module of each registry, by the registry's name; filled in the same way."""


def provided(what: Provided) -> Any:
    """Return an object of a higher package, whose module is loaded on first use.

    >>> provided("summary").__name__
    'summary_of'
    """
    module, name = PROVIDERS[what]
    return getattr(import_module(module), name)
