"""The public interface as text, one line a name: what semantic versioning promises about.

It has the names of every public module, the parameters and defaults of functions, methods and classes, and public
attributes. Registered keys and commands are in it with their parameters and options.

Usage: python -m tests.release.api [--write]. Without the option, changes since api.txt are printed, breaking first.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import calib_core as cc
from calib.__main__ import main
from calib_core.registry.registry import FAMILIES

KEPT = Path(__file__).with_name("api.txt")
OUTSIDE = ("calib.exhibits", "calib.integrations", "calib.views")
"""Public modules besides those of `calib_core`."""
NOT_OURS = ("sklearn", "numpy", "builtins", "abc", "enum", "typing", "pathlib")
"""Packages whose classes' members are theirs to promise."""


def lines() -> list[str]:
    """Return the whole interface, sorted."""
    values = {f"calib_core.{name}": getattr(cc, name) for name in (*cc.__all__, "figures")}
    modules = [value for value in values.values() if isinstance(value, ModuleType)]
    for module in (*modules, *map(importlib.import_module, OUTSIDE)):
        for name in getattr(module, "__all__", [each for each in vars(module) if each.isupper()]):
            values.setdefault(f"{module.__name__}.{name}", getattr(module, name))
    classes = {value for value in values.values() if inspect.isclass(value)}
    found = {line for name, value in values.items() for line in described(name, value, classes)}
    return sorted(found.union(registered(), commands()))


def described(name: str, value: object, classes: set[type]) -> Iterator[str]:
    """Yield the lines of a public name; a class has what no other public class gives it."""
    if isinstance(value, ModuleType):
        yield name
    elif inspect.isclass(value):
        yield f"{name}{signature(value)}"
        for member, of in inspect.getmembers_static(value):
            if not member.startswith("_") and not _inherited(value, member, classes):
                inner = of.__func__ if isinstance(of, classmethod | staticmethod) else of
                yield f"{name}.{member}{signature(inner) if inspect.isfunction(inner) else ''}"
    elif inspect.isfunction(value):
        yield f"{name}{signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _inherited(cls: type, member: str, classes: set[type]) -> bool:
    owner = next((base for base in cls.__mro__ if member in vars(base)), cls)
    return owner is not cls and (owner in classes or owner.__module__.partition(".")[0] in NOT_OURS)


def signature(value: Any) -> str:
    """Return names, kinds and defaults of parameters, without annotations.

    >>> def f(a, *, b=0.5, c=None): ...
    >>> signature(f)
    '(a, *, b=0.5, c=None)'
    """
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    text = str(inspect.Signature(bare, __validate_parameters__=False))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def registered() -> Iterator[str]:
    """Yield every registered key of a family with its parameters and their defaults."""
    for family in sorted(cc.__all__):
        if family.isupper() and family in FAMILIES:
            registry = FAMILIES[family]
            for key in registry:
                options = ", ".join(f"{each.name}={each.default!r}" for each in registry[key].params)
                yield f"{family} {key}({options})"


def commands() -> Iterator[str]:
    """Yield every command with its arguments and options."""
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        for each in command.params:
            said = "/".join((*each.opts, *each.secondary_opts))
            # Versions of click differ in how they write that there is no default.
            none = callable(each.default) or repr(each.default) in ("None", "False", "Sentinel.UNSET")
            yield f"calib {name} {said}{'' if none else f'={each.default!r}'}"


def breaking(old: list[str], new: list[str]) -> list[str]:
    """Return lines of the old interface that code may rely on and the new one no longer has.

    A new parameter with a default at the end, or a keyword, breaks nothing; a new default, order or name does.

    >>> breaking(["f(a, b=1)", "g(a)", "h(a)"], ["f(a, b=2)", "g(a, *, c=3)"])
    ['f(a, b=1)', 'h(a)']
    """
    now: dict[str, list[str]] = {}
    for line in new:
        name, parts = _parted(line)
        now[name] = parts
    found = []
    for line in old:
        name, parts = _parted(line)
        if name not in now or not _accepts(parts, now[name]):
            found.append(line)
    return found


def _parted(line: str) -> tuple[str, list[str]]:
    name, bracket, rest = line.partition("(")
    if not bracket:
        return line, []
    parts, depth = [""], 0
    for sign in rest.removesuffix(")"):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return name, [part.strip() for part in parts if part.strip()]


def _accepts(old: list[str], new: list[str]) -> bool:
    """Return True if every call that the old parameters allow means the same with the new ones."""
    added = [part for part in new if part not in old and part != "*"]
    if not set(old) - {"*", "/"} <= set(new) or not all("=" in part or part.startswith("*") for part in added):
        return False
    places = list(itertools.takewhile(lambda part: not part.startswith("*"), old))
    return new[: len(places)] == places


def changes(old: list[str], new: list[str]) -> str:
    """Return what a person reads where the interface is not the kept one; empty if it is."""
    broken = breaking(old, new)
    gone = [line for line in old if line not in new and line not in broken]
    said = [f"- {line}   (breaks code)" for line in broken] + [f"- {line}" for line in gone]
    return "\n".join([*said, *(f"+ {line}" for line in new if line not in old)])


if __name__ == "__main__":
    if "--write" in sys.argv:
        KEPT.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    else:
        sys.stdout.write(changes(KEPT.read_text("utf-8").splitlines(), lines()) + "\n")
