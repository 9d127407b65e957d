"""Modules loaded when they are first used, under their own names and, until 1.0, under those they had before.

What lower rooms use of rooms above them, loaded on first use; the package's face names who provides it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeAlias


def submodule(package: str, public: Collection[str], name: str) -> ModuleType:
    """A public module of a package, for the package's ``__getattr__``.

    >>> submodule("calib_core", ["palette"], "palette").__name__
    'calib_core.palette'
    """
    if name not in public:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return import_module(f"{package}.{name}")


def renamed(old: str, new: str) -> ModuleType:
    """The module ``new``, with a warning that its name is no longer ``old``."""
    warnings.warn(f"{old} is {new} now; the old name is removed in 1.0", DeprecationWarning, stacklevel=3)
    return import_module(new)


def moved_name(package: str, name: str, room: str) -> object:
    """A name that was the package's own, from the room that has it, with a warning."""
    old, new = f"{package}.{name}", f"{package}.{room}.{name}"
    warnings.warn(f"{old} is {new} now; the old name is removed in 1.0", DeprecationWarning, stacklevel=3)
    return getattr(import_module(f"{package}.{room}"), name)


class OldName(ModuleType):
    """The name that a module had: importable, and what is imported from it comes from where the module is now."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(old, f"``{new}``, by the name it had before; it is removed in 1.0.")
        self.__dict__["_new"] = new

    def __getattr__(self, name: str) -> object:
        # What looks through sys.modules reads names with underscores of every module, and means nobody's function.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(renamed(self.__name__, self.__dict__["_new"]), name)
        return value


def keep_old_names(package: str, names: dict[str, str]) -> None:
    """Make modules importable by the names they had: ``names`` are old and new ones, without their package."""
    for old, new in names.items():
        sys.modules.setdefault(f"{package}.{old}", OldName(f"{package}.{old}", f"{package}.{new}"))


Provided: TypeAlias = Literal["inference", "calibrator text", "summary", "picture"]

PROVIDERS: dict[Provided, tuple[str, str]] = {}
"""Module and name of each; filled by ``calib_core/__init__.py``, which runs before any module of the package."""


REGISTRIES: dict[str, str] = {}
"""Module of each registry, by the registry's name; filled in the same way."""


def provided(what: Provided) -> Any:
    """The object that an upper room provides, its module loaded when it is first needed.

    >>> provided("summary").__name__
    'summary_of'
    """
    module, name = PROVIDERS[what]
    return getattr(import_module(module), name)
