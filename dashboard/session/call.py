"""Computation as a value: a function and its arguments. It can run, and print itself as Python.

The function is a public one of calib_core, or one of another package that can be imported by its name.
"""

from __future__ import annotations

import hashlib
import inspect
import keyword
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, cached_property
from itertools import chain, count
from types import FunctionType, ModuleType
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

import calib_core as cc
from calib_core import InputError, Predictions, Recipe
from calib_core.evaluation.splitting import Division
from calib_core.registry.registry import FAMILIES
from dashboard.extensions import OWN, package_of
from dashboard.session.visitors import stop_if_closed
from dashboard.workers.durations import Work
from dashboard.workers.pool import compute

T = TypeVar("T", covariant=True)
Get = Callable[["Call[Any]"], Any]
"""Function that returns the result of a call among another call's arguments."""
Progress = Callable[[int], object]
"""Callback that receives percent done; any exception from it stops the work."""
_WIDEST = 100
_ALIAS = "cc"
_PLOTTED = "figures"
"""Module that needs Plotly: its functions are given by name, so that tables never load it."""


@runtime_checkable
class Leaf(Protocol):
    """Leaf of a call: a file, identified by the hash of its content and printed as the line that reads it."""

    @property
    def key(self) -> str: ...

    @property
    def stem(self) -> str: ...

    def python(self) -> str: ...

    def get(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class _Node:
    """Part of an expression: equal to every part that prints the same."""

    @cached_property
    def key(self) -> str:
        """Return the hash of the text, in which every part is replaced by its own hash."""
        return hashlib.sha256(self.text(_key).encode()).hexdigest()

    def text(self, write: Callable[[Any], str], wide: bool = False) -> str:
        """Return the expression, its parts written by ``write``; ``wide``: one line per argument."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Node) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class Call(_Node, Generic[T]):
    """Function by its public name, or ".part": that part of its only argument; ``stem`` names the result in code.

    A function of another package is "module:function".

    ".part()" is the result of a method without arguments, such as ``.frame()`` of a diagram.
    """

    name: str
    args: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    stem: str = ""

    def run(self, get: Get, progress: Progress | None = None) -> T:
        """Compute the result; ``get`` computes those of its parts. Functions that take ``progress`` receive it."""
        args = [_value(argument, get) for argument in self.args]
        options = {name: _value(value, get) for name, value in self.options}
        if self.is_part:
            part: Any = getattr(args[0], self.name[1:].removesuffix("()"))
            result: T = part() if self.name.endswith("()") else part
            return result
        function: Callable[..., T] = public(self.name)
        if self.takes_long:
            # Stop when the tab that the result is drawn for is closed.
            computed: T = compute(function, args, options, _for_a_tab(progress), _work(self.kind, args))
            return computed
        return function(*args, **options)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Return the keys of the files that it depends on."""
        return _leaves(self)

    @property
    def takes_long(self) -> bool:
        """Return True if it may take long; then it reports its progress."""
        return not self.is_part and "progress" in inspect.signature(public(self.name)).parameters

    @cached_property
    def kind(self) -> str:
        """Return the kind of work: the function, and the keys of methods among its arguments."""
        return " ".join((self.step, *sorted(set(_methods(self)))))

    @property
    def step(self) -> str:
        """Return its name while it runs, under which its durations are stored."""
        return self.name.removeprefix("calls.")

    @property
    def is_part(self) -> bool:
        """Return True if it names a part of a result."""
        return self.name.startswith(".")

    @property
    def module(self) -> str:
        """Return the extension module of its function; empty for functions of calib_core."""
        return self.name.rpartition(":")[0]

    def part(self, name: str, stem: str = "") -> Call[Any]:
        """Return a part of the result, such as ``.test`` of a division."""
        return Call(f".{name}", (self,), stem=stem)

    def text(self, write: Callable[[Any], str], wide: bool = False) -> str:
        """Return the expression, its parts written by ``write``."""
        if self.is_part:
            return f"{write(self.args[0])}{self.name}"
        parts = [_text(argument, write) for argument in self.args]
        parts += [f"{name}={_text(value, write)}" for name, value in self.options]
        function = self.name.replace(":", ".") if self.module else f"cc.{self.name}"
        return f"{function}({_joined(parts, wide)})"


@dataclass(frozen=True, eq=False)
class Record(_Node):
    """Dict as a part of an expression."""

    items: tuple[tuple[str, Any], ...]

    def text(self, write: Callable[[Any], str], wide: bool = False) -> str:
        """Return the dict as Python source."""
        return "{" + _joined([f"{name!r}: {_text(value, write)}" for name, value in self.items], wide) + "}"


Part: TypeAlias = Call[Any] | Record | Recipe | Leaf


def _for_a_tab(progress: Progress | None) -> Progress:
    def tell(percent: int) -> None:
        stop_if_closed()
        if progress is not None:
            progress(percent)

    return tell


def _work(kind: str, args: Iterable[Any]) -> Work | None:
    """Return the work on these arguments, sized by the first rows among them."""
    for value in args:
        if isinstance(value, (Division, Predictions)):
            return work_on(value.fit if isinstance(value, Division) else value, kind)
    return None


def work_on(rows: Predictions, kind: str) -> Work:
    """Return the work of a kind, sized by the rows that it uses, for estimates of its duration."""
    classes = rows.n_classes or 2
    # Of more numbers than these, a choice samples rows.
    most = cc.evaluation.choice.MOST_NUMBERS if kind.partition(" ")[0] == "choose" else rows.n_rows * classes
    return Work(kind, min(rows.n_rows, most // classes), classes)


def _methods(part: Part) -> Iterator[str]:
    for inner in _inside(part):
        if isinstance(inner, Recipe):
            yield inner.key
        elif isinstance(inner, (Call, Record)):
            yield from _methods(inner)


def call(function: Callable[..., T] | str, *args: Any, stem: str = "", **options: Any) -> Call[T]:
    """Return a call after checks: its function can be imported and takes these arguments.

    It is public in calib_core, or defined at the top of a module of another package; otherwise InputError. Functions
    that need Plotly are given by name ("figures.reliability"). Defaults are omitted, so that equal calls have equal
    texts; ``stem`` is the name of the result in printed code.
    """
    name = function if isinstance(function, str) else _name(function)
    if isinstance(function, str) and function.startswith(f"{_PLOTTED}."):
        # Not checked against its signature, which would load Plotly; empty options are the defaults of all of them.
        kept = {n: _frozen(value) for n, value in options.items()}
        kept = {n: value for n, value in kept.items() if value not in ((), None)}
        return Call(name, tuple(map(_frozen, args)), tuple(kept.items()), stem)
    signature = inspect.signature(public(name))
    given = signature.bind(*args, **options).arguments
    parameters = signature.parameters
    more = given.pop(next((n for n, p in parameters.items() if p.kind is p.VAR_KEYWORD), ""), {})
    empty = inspect.Parameter.empty
    needed = tuple(_frozen(value) for n, value in given.items() if parameters[n].default is empty)
    chosen = {n: _frozen(value) for n, value in given.items() if parameters[n].default is not empty}
    differing = {
        n: value for n, value in chosen.items() if _identity(value) != _identity(_frozen(parameters[n].default))
    }
    return Call(name, needed, tuple((differing | {n: _frozen(v) for n, v in more.items()}).items()), stem)


def public(name: str) -> Callable[..., Any]:
    """Return the function that calib_core, or a module of it, lists by this name in ``__all__``; KeyError if none does.

    "module:function" is one that was passed to `call` in this process: a name never imports anything.
    """
    module, _, function = name.rpartition(".")
    if module == _PLOTTED:
        import calib_core.figures as figures

        if function not in figures.__all__:
            raise KeyError(name)
        plotted: Callable[..., Any] = getattr(figures, function)
        return plotted
    if ":" in name:
        return _FOREIGN[name]
    if not inspect.isfunction(found := _at(name)):
        raise KeyError(name)
    return found


_FOREIGN: dict[str, Callable[..., Any]] = {}
"""Functions of other packages used in calls."""
_PACKAGE = cc.__name__


def _name(function: Callable[..., Any]) -> str:
    """Return the public name of a function of calib_core; for other functions, module and name."""
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__qualname__", "")
    if module.partition(".")[0] in OWN:
        if inspect.isfunction(function) and (listed := _listed(function)):
            return listed
        raise InputError(
            f"{module}.{name} is not a public function of {_PACKAGE}: call one that {_PACKAGE} or a module of it lists "
            "in __all__"
        )
    words = (*module.split("."), name)
    printable = all(word.isidentifier() and not keyword.iskeyword(word) for word in words)
    importable = words[0] not in ("__main__", _ALIAS) and getattr(sys.modules.get(module), name, None) is function
    if not (printable and importable):
        raise InputError(
            f"{name or function!r} cannot be imported by its name, as copied code has to: define it with def at the "
            "top of a module (lambdas, functions within functions and those of a script have no such name)"
        )
    try:
        inspect.signature(function)
    except (TypeError, ValueError):  # some written in C
        raise InputError(f"{module}.{name} has no readable signature: call it from a function of your own") from None
    _FOREIGN[f"{module}:{name}"] = function
    return f"{module}:{name}"


@cache
def _public() -> dict[str, Callable[..., Any]]:
    return dict(_functions(cc, ""))


def _functions(module: ModuleType, before: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield functions that a module lists, and those of the modules it lists; shorter names come first."""
    listed = [name for name in getattr(module, "__all__", ()) if before or name != _PLOTTED]
    things = {f"{before}{name}": getattr(module, name) for name in listed}
    yield from ((name, thing) for name, thing in things.items() if inspect.isfunction(thing))
    for name, thing in things.items():
        if isinstance(thing, ModuleType):
            yield from _functions(thing, f"{name}.")


@cache
def _listed(function: FunctionType) -> str | None:
    """Return the first public name of a function.

    It is looked for where it is defined, and in all modules only if it is not there: that takes long to load.
    """
    home = function.__module__.split(".")[1:]
    rooms = ("", "calls.", *(f"{'.'.join(home[: i + 1])}." for i in range(len(home))))
    names = (f"{room}{function.__name__}" for room in rooms)
    near = next((name for name in names if _at(name) is function), None)
    return near or next((name for name, listed in _public().items() if listed is function), None)


def _at(name: str) -> object:
    """Return what is listed by a public name; None if nothing is."""
    found: Any = cc
    for word in name.split("."):
        if word not in getattr(found, "__all__", ()):
            return None
        found = getattr(found, word)
    return found


def python(**results: Call[Any]) -> str:
    """Return lines of Python, on calib_core and extension packages, that end with these names.

    A part that is needed twice, or has a stem, gets its own line.
    """
    times: dict[str, int] = {}
    order: list[Part] = []

    def visit(part: Part) -> None:
        times[_key(part)] = times.get(_key(part), 0) + 1
        if times[_key(part)] == 1:
            for inner in _inside(part):
                visit(inner)
            order.append(part)

    for result in results.values():
        visit(result)
    last = {result.key: name for name, result in results.items()}
    wanted = set(last)
    names: dict[str, str] = {}
    modules = sorted(set(filter(None, map(_module, order))))
    lines = [f"import {_PACKAGE} as {_ALIAS}", *(f"import {module}" for module in modules), ""]
    imported = {module.partition(".")[0] for module in modules}
    last = {key: name for key, name in last.items() if name not in imported}  # these are given at the very end

    def write(part: Any) -> str:
        return names.get(_key(part)) or _own_text(part, write)

    for part in order:
        if not (_key(part) in wanted or _named(part, times[_key(part)])):
            continue
        text = write(part)
        if len(text) > _WIDEST and isinstance(part, _Node):
            text = part.text(write, wide=True)
        names[_key(part)] = last.get(_key(part)) or _free(_stem(part), {*results, *imported, *names.values()})
        lines.append(f"{names[_key(part)]} = {text}")
    lines += [f"{name} = {names[result.key]}" for name, result in results.items() if names[result.key] != name]
    return "\n".join(lines) + "\n"


def _module(part: Part) -> str:
    """Return the extension module that a part needs: its function's, or the one that registered it."""
    if isinstance(part, Recipe):
        member = FAMILIES[part.family].entry(part.key).cls
        return member.__module__ if package_of(member) else ""
    return part.module if isinstance(part, Call) else ""


def _named(part: Part, times: int) -> bool:
    """Return True if a part is assigned to a name on its own line."""
    if isinstance(part, Call):
        return bool(part.stem) or (times > 1 and not part.is_part)
    return times > 1 or isinstance(part, Leaf)


def _own_text(part: Any, write: Callable[[Any], str]) -> str:
    return part.text(write) if isinstance(part, _Node) else str(part.python())


def _joined(parts: list[str], wide: bool) -> str:
    return (
        "\n    " + ",\n    ".join(part.replace("\n", "\n    ") for part in parts) + ",\n" if wide else ", ".join(parts)
    )


def _stem(part: Part) -> str:
    if isinstance(part, Recipe):
        return part.family.lower().removesuffix("s")
    if isinstance(part, Record):
        return "parts"
    if isinstance(part, Call):
        return part.stem or re.split(r"[.:]", part.name)[-1]
    return part.stem


def _free(stem: str, taken: Iterable[str]) -> str:
    """Return an unused name based on a stem."""
    plain = re.sub(r"\W+", "_", stem.lower()).strip("_") or "result"
    plain = plain if plain.isidentifier() and plain != _ALIAS else f"m_{plain}"
    used = set(taken)
    return next(name for name in chain([plain], (f"{plain}_{i}" for i in count(2))) if name not in used)


def _key(part: Any) -> str:
    return part.python() if isinstance(part, Recipe) else str(part.key)


def _identity(value: Any) -> str:
    """Return a text that only equal values share; that of an expression is its key, however much is in it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_identity, value))})"
    return repr(value) if isinstance(value, Recipe) or not _is_part(value) else _key(value)


def _is_part(value: Any) -> bool:
    # What is surely no leaf comes first: a protocol looks at every member.
    return isinstance(value, (_Node, Recipe)) or (not isinstance(value, _PLAIN) and isinstance(value, Leaf))


_PLAIN = (str, int, float, tuple, type(None))


def _text(value: Any, write: Callable[[Any], str]) -> str:
    if _is_part(value):
        return write(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(v, write) for v in value) + ("," if len(value) == 1 else "") + ")"
    if value is not None and type(value) not in (bool, int, float, str):
        raise TypeError(f"{value!r} is no argument of a call")
    return repr(value)


def _inside(part: Part) -> Iterator[Part]:
    """Yield the parts of an expression, in the order in which they are written."""
    values: Iterable[Any] = ()
    if isinstance(part, Call):
        values = (*part.args, *(value for _, value in part.options))
    elif isinstance(part, Record):
        values = (value for _, value in part.items)
    yield from _parts(values)


def inner_calls(part: Part) -> Iterator[Call[Any]]:
    """Yield the calls among the arguments of a call."""
    for inner in _inside(part):
        if isinstance(inner, Call):
            yield inner
        elif isinstance(inner, Record):
            yield from inner_calls(inner)


def _parts(values: Iterable[Any]) -> Iterator[Part]:
    for value in values:
        if _is_part(value):
            yield value
        elif isinstance(value, tuple):
            yield from _parts(value)


def _leaves(part: Part) -> frozenset[str]:
    if isinstance(part, (_Node, Recipe)):
        inner = (p.leaves if isinstance(p, Call) else _leaves(p) for p in _inside(part))
        return frozenset(chain.from_iterable(inner))
    return frozenset((part.key,))


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Record(tuple((str(name), _frozen(v)) for name, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return _recipe(value) if is_dataclass(value) and not _is_part(value) else value


def _recipe(value: Any) -> Any:
    """Return the recipe of a registered object."""
    families = (registry for registry in FAMILIES.values() if registry.find(value) is not None)
    return next((registry.recipe(value) for registry in families), value)


def _value(value: Any, get: Get) -> Any:
    if isinstance(value, Call):
        return get(value)
    if isinstance(value, Record):
        return {name: _value(v, get) for name, v in value.items}
    if isinstance(value, tuple):
        return tuple(_value(v, get) for v in value)
    if isinstance(value, Recipe):
        return value.build()
    return value.get() if _is_part(value) else value
