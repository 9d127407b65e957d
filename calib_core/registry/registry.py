"""Registries of open families, and recipes that name a configured member."""

from __future__ import annotations

import dataclasses
import difflib
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

from calib_core._base.providers import REGISTRIES
from calib_core.registry.citations import cited
from calib_core.registry.params import (
    NO_REFIT,
    Choice,
    ClassIndex,
    Counts,
    Domain,
    Flag,
    Key,
    Numbers,
    Param,
    Part,
    Range,
    RegistryError,
    Shares,
    Text,
    first_sentence,
    params_of,
)
from calib_core.text import inside

__all__ = [
    "FAMILIES",
    "NO_REFIT",
    "Choice",
    "ClassIndex",
    "Counts",
    "Domain",
    "Entry",
    "Flag",
    "Key",
    "Numbers",
    "Param",
    "Part",
    "Prefix",
    "Range",
    "Recipe",
    "Registry",
    "RegistryError",
    "Shares",
    "Text",
]

T = TypeVar("T")
MOST_PREFIXES = 4  # of one key: a link could nest them deeper than Python calls
Value: TypeAlias = "bool | int | float | str | tuple[float, ...] | Recipe | None"


@dataclass(frozen=True)
class Recipe:
    """A member's key and its parameters that differ from the defaults: hashable, JSON-able, rebuildable.

    Cache key, share link, table index, report entry and "copy as Python" in one.
    """

    family: str
    key: str
    params: tuple[tuple[str, Value], ...] = ()

    def build(self) -> Any:
        return FAMILIES[self.family].make(self.key, **dict(self.params))

    @property
    def title(self) -> str:
        """The member's title, with its non-default parameters in brackets."""
        entry, params = FAMILIES[self.family].entry(self.key), dict(self.params)
        name = next((name for name, value in self.params if entry.filled and isinstance(value, Recipe)), "")
        part = params.pop(name, None)
        title = entry.filled.format(part.title) if isinstance(part, Recipe) else entry.title
        shown = ", ".join(entry.param(name).phrase(value) for name, value in params.items())
        return title + (f" ({shown})" if shown else "")

    def without(self, *names: str) -> Recipe:
        """The same member with these parameters at their defaults."""
        return dataclasses.replace(self, params=tuple(param for param in self.params if param[0] not in names))

    @property
    def late(self) -> dict[str, Value]:
        """Its options that fitting does not read."""
        entry = FAMILIES[self.family].entry(self.key)
        return {name: value for name, value in self.params if not entry.param(name).refits}

    @property
    def fitting(self) -> Recipe:
        """The recipe without options that fitting does not read: the same for members that one fit serves."""
        return dataclasses.replace(self, params=tuple(pair for pair in self.params if pair[0] not in self.late))

    def to_dict(self) -> dict[str, Any]:
        params = {name: value.to_dict() if isinstance(value, Recipe) else value for name, value in self.params}
        return {"key": self.key, **({"params": params} if params else {})}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))

    def python(self) -> str:
        """The Python expression that makes this member."""
        params = "".join(
            f", {name}={value.python() if isinstance(value, Recipe) else repr(value)}" for name, value in self.params
        )
        room = REGISTRIES.get(self.family, "").partition(".")[2]
        own = not room or self.family in import_module("calib_core").__all__
        return f"cc.{'' if own else f'{room}.'}{self.family}.make({self.key!r}{params})"

    @classmethod
    def from_dict(cls, family: str, data: Any) -> Recipe:
        """A recipe read back from JSON data, checked against its registry; RegistryError says what is wrong."""
        if isinstance(data, str):
            data = {"key": data}
        if not isinstance(data, Mapping) or not isinstance(data.get("key"), str):
            raise RegistryError(f"a recipe of {family} needs a key, got {str(data)[:80]}")
        registry, params = FAMILIES[family], data.get("params", {})
        if not isinstance(params, Mapping):
            raise RegistryError(f"params of {data['key'][:80]!r} must be an object")
        entry = registry.entry(data["key"])
        return registry.described(entry.key, **{str(name): entry.read(str(name), v) for name, v in params.items()})


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered member: key, title, caption, parameters, reference and declared flags.

    ``reference`` is kept as readers see it: authors and year. ``elsewhere`` tells which well-known package's number it
    is, or how it differs: read from its source and run. ``formula`` is in TeX, as KaTeX sets it.
    ``filled`` is the title with a part chosen for it, whose own title goes in place of the braces.
    """

    key: str
    title: str
    caption: str
    factory: Callable[..., T]
    params: tuple[Param, ...]
    reference: str = ""
    flags: Any = None
    cls: type[T] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    lift: str = ""
    elsewhere: str = ""
    formula: str = ""
    filled: str = ""

    def makes(self, member: Any) -> bool:
        """Could this entry have made the member?"""
        if type(member) is not self.cls:
            return False
        return all(
            type(getattr(member, name)) is type(value) if name == self.lift else _same(getattr(member, name), value)
            for name, value in self.fixed.items()
        )

    def value(self, member: Any, param: Param) -> Any:
        """The member's value of a parameter, its own or its lifted part's."""
        return getattr(member if hasattr(member, param.name) else getattr(member, self.lift), param.name)

    def has(self, name: str) -> bool:
        """Has it a parameter of this name?"""
        return any(param.name == name for param in self.params)

    def param(self, name: str) -> Param:
        for param in self.params:
            if param.name == name:
                return param
        known = ", ".join(p.name for p in self.params) or "none"
        raise RegistryError(f"{self.key!r} has no parameter {name!r}; its parameters: {known}")

    def read(self, name: str, value: Any) -> Any:
        """A parameter's value from JSON data: parts become members, lists tuples."""
        domain = self.param(name).domain
        if isinstance(domain, Part) and isinstance(value, (str, Mapping)):
            return Recipe.from_dict(domain.family, value).build()
        return tuple(value) if isinstance(value, list) else value

    def make(self, **params: Any) -> T:
        ready = {name: self._ready(self.param(name), value) for name, value in params.items()}
        return self.factory(**ready)

    @staticmethod
    def _ready(param: Param, value: Any) -> Any:
        if isinstance(param.domain, Part) and isinstance(value, str):
            value = FAMILIES[param.domain.family].make(value)
        if isinstance(value, Recipe):
            value = value.build()
        param.check(value)
        return int(value) if param.integer and value is not None else value


@dataclass(frozen=True)
class Prefix(Generic[T]):
    """A composition named ``prefix + KEY``: wraps any entry's members, and knows its own when it sees one."""

    prefix: str
    title: str
    wrap: Callable[[T], T]
    unwrap: Callable[[T], T | None]
    reference: str = ""


class _Families(dict[str, "Registry[Any]"]):
    """Registries by name: one of the package is loaded when it is first asked for."""

    def __missing__(self, family: str) -> Registry[Any]:
        if family not in REGISTRIES:
            raise KeyError(family)
        registry: Registry[Any] = getattr(import_module(REGISTRIES[family]), family)
        return registry


FAMILIES = _Families()
"""Every registry by its public name."""


class Registry(Generic[T]):
    """An open family: members are added by a decorator and found by key.

    ``flags``: what members declare by default; ``names``: others that find a key; ``asides``: where else to look.

    >>> pets = Registry("PETS")
    >>> @pets.register("cat", "Cat")
    ... @dataclass(frozen=True)
    ... class Cat:
    ...     "Purrs. And sleeps."
    ...     lives: typing.Annotated[int, Range(1, 9), "how many"] = 9
    >>> pets.make("cat", lives=7), pets["cat"].caption, pets.recipe(Cat(7)).to_json()
    (Cat(lives=7), 'Purrs.', '{"key":"cat","params":{"lives":7}}')
    """

    def __init__(self, family: str, flags: Any = None) -> None:
        self.family = family
        self._undeclared = flags
        self._entries: dict[str, Entry[T]] = {}
        self.names, self.asides = dict[str, str](), dict[str, str]()
        self._prefixes: dict[str, Prefix[T]] = {}
        FAMILIES[family] = self

    def register(
        self, key: str, title: str, *, reference: str = "", flags: Any = None, elsewhere: str = "", formula: str = ""
    ) -> Callable[[type[T]], type[T]]:
        """Class decorator that adds a dataclass as a member; its annotated fields become its parameters."""

        def add(cls: type[T]) -> type[T]:
            declared = self._undeclared if flags is None else flags
            caption = first_sentence(cls)
            entry = Entry(key, title, caption, cls, params_of(cls), reference, declared, cls)
            self._add(dataclasses.replace(entry, elsewhere=elsewhere, formula=formula))
            return cls

        return add

    def preset(
        self,
        key: str,
        title: str,
        caption: str,
        cls: type[T],
        *,
        lift: str = "",
        reference: str = "",
        flags: Any = None,
        elsewhere: str = "",
        formula: str = "",
        filled: str = "",
        **fixed: Any,
    ) -> None:
        """Add a member that is a class with some parameters fixed; it declares what the class does, or ``flags``.

        ``lift`` names a fixed part whose own parameters become this member's: histogram binning of the top label
        has a points-per-bin control of its own, though the number belongs to its binary part.
        """
        # Fitted maps hold copies of the part: all its parameters belong to the fit.
        lifted = _of_the_fit(params_of(type(fixed[lift]))) if lift else ()
        own = tuple(p for p in params_of(cls) if p.name not in fixed)

        def make(**given: Any) -> T:
            inner = {p.name: given.pop(p.name) for p in lifted if p.name in given}
            parts = {name: _fresh(value, inner if name == lift else {}) for name, value in fixed.items()}
            return cls(**parts, **given)

        if flags is None:
            flags = next((e.flags for e in self._entries.values() if e.cls is cls), self._undeclared)
        known = (reference, flags, cls, fixed, lift, elsewhere, formula, filled)
        self._add(Entry(key, title, caption, make, lifted + own, *known))

    def compose(self, prefix: Prefix[T]) -> None:
        """Add a prefix that composes with every key, like ``ts+``."""
        self._prefixes[prefix.prefix] = prefix

    def make(self, key: str, /, **params: Any) -> T:
        """The member called key, with these parameters."""
        return self.entry(key).make(**params)

    def entry(self, key: str) -> Entry[T]:
        key = self.names.get(key, key)
        if key in self._entries:
            return self._entries[key]
        for prefix in self._prefixes.values():
            if key.startswith(prefix.prefix) and key.count(prefix.prefix) <= MOST_PREFIXES:
                return self._composed(prefix, self.entry(key.removeprefix(prefix.prefix)))
        near = difflib.get_close_matches(key, self._entries, n=1)
        hint = self.asides.get(key) or (f"did you mean {near[0]!r}? " if near else "")
        raise RegistryError(f"no {key[:80]!r} in {self.family}; {hint}keys: {', '.join(self._entries)}")

    __getitem__ = entry

    def find(self, member: Any) -> Entry[T] | None:
        """The most specific entry that could have made this member, None when it is not of this family."""
        makers = [entry for entry in self._entries.values() if entry.cls is type(member) and entry.makes(member)]
        return max(makers, key=lambda entry: len(entry.fixed), default=None)

    def flags(self, member: Any) -> Any:
        """What this member's entry declares; one that is not registered declares what the family does by default."""
        entry = self.find(member)
        return self._undeclared if entry is None else entry.flags

    def recipe(self, member: Any) -> Recipe:
        """The recipe that makes this member again."""
        if isinstance(member, Recipe):
            return member
        if isinstance(member, str):
            return Recipe(self.family, self.entry(member).key)
        for prefix in self._prefixes.values():
            inner = prefix.unwrap(member)
            if inner is not None:
                recipe = self.recipe(inner)
                return dataclasses.replace(recipe, key=prefix.prefix + recipe.key)
        entry = self.find(member)
        if entry is None:
            raise RegistryError(f"{type(member).__name__} is not registered in {self.family}")
        return self._recipe(entry, member)

    def described(self, key: str, /, **params: Any) -> Recipe:
        """The recipe of ``make(key, **params)`` under this very key, its parameters checked."""
        entry = self.entry(key)
        member: Any = entry.make(**params)
        for prefix in self._prefixes.values():
            inner = prefix.unwrap(member)
            member = member if inner is None else inner
        return self._recipe(entry, member)

    def _recipe(self, entry: Entry[T], member: Any) -> Recipe:
        values = ((p, entry.value(member, p)) for p in entry.params)
        return Recipe(
            self.family, entry.key, tuple((p.name, _value(v, p)) for p, v in values if not _same(v, p.default))
        )

    def prefixes(self) -> tuple[str, ...]:
        return tuple(self._prefixes)

    def remove(self, key: str) -> None:
        """Take an entry out again (a plug-in being reloaded, a test cleaning up)."""
        del self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and bool(self.entry(key))
        except RegistryError:
            return False

    def _add(self, entry: Entry[T]) -> None:
        if entry.key in self._entries:
            raise RegistryError(f"{entry.key!r} is already registered in {self.family}")
        self._entries[entry.key] = dataclasses.replace(entry, reference=cited(entry.reference))

    @staticmethod
    def _composed(prefix: Prefix[T], inner: Entry[T]) -> Entry[T]:
        return dataclasses.replace(
            inner,
            key=prefix.prefix + inner.key,
            params=_of_the_fit(inner.params),
            title=f"{prefix.title}, then {inside(inner.title)}",
            filled=f"{prefix.title}, then {inner.filled}" if inner.filled else "",
            factory=lambda **params: prefix.wrap(inner.factory(**params)),
            reference=cited(prefix.reference),
        )


def _of_the_fit(params: tuple[Param, ...]) -> tuple[Param, ...]:
    return tuple(dataclasses.replace(param, refits=True) for param in params)


def _value(value: Any, param: Param) -> Value:
    if isinstance(param.domain, Part) and value is not None:
        return FAMILIES[param.domain.family].recipe(value)
    return typing.cast(Value, value)


def _same(a: Any, b: Any) -> bool:
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a) if f.init)
    return bool(a == b)


def _fresh(value: Any, changes: Mapping[str, Any]) -> Any:
    """A part of its own for every member made: fitted state must not be shared."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _fresh(getattr(value, f.name), {}) for f in dataclasses.fields(value) if f.init}
        return type(value)(**{**fields, **changes})
    return value
