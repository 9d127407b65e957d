"""What lower rooms use of rooms above them, loaded on first use; the package's face names who provides it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, TypeAlias

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
