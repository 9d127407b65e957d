"""Registries of extensible families, declared parameters (controls, captions, checks), and recipes of members."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

from calib_core._base.lazy_modules import REGISTRIES
from calib_core.registry.citations import cited
from calib_core.text import begun, inside, listed


def in_words(name: str) -> str:
    """Convert a key or name of the code to plain words, for parameters without a title.

    >>> in_words("whole-curve"), in_words("rows_per_bin")
    ('Whole curve', 'Rows per bin')
    """
    return begun(name.replace("_", " ").replace("-", " "))


class RegistryError(ValueError):
    """Unknown key or parameter, or value outside its domain; the message states what is allowed."""


class UnknownKey(RegistryError):
    """No member of the family has this key; ``near`` are similar keys, and ``hint`` says where else to look.

    The message is for callers of Python functions; a command names its option and its help instead.

    >>> str(UnknownKey("PETS", "cta", ("cat",)))
    "pet 'cta' is not known; did you mean 'cat'? list(PETS) shows every key"
    """

    def __init__(self, family: str, key: str, near: tuple[str, ...] = (), hint: str = ""):
        super().__init__(family, key, near, hint)
        self.family, self.key, self.near, self.hint = family, key, near, hint

    def __str__(self) -> str:
        what = self.family.lower().replace("_", " ").removesuffix("s")
        every = "" if self.hint else f" list({_home(self.family)}) shows every key"
        return f"{what} {self.brief}{every}"

    @property
    def brief(self) -> str:
        """The key, and similar ones or the hint, as a sentence."""
        near = f"; did you mean {' or '.join(map(repr, self.near))}?" if self.near else "."
        return f"{self.key[:80]!r} is not known{f'; {self.hint}.' if self.hint else near}"


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, inclusive; ``log`` requests a logarithmic control."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def check(self, value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self.low <= value <= self.high:
            return f"a number from {self.low:g} to {self.high:g}"
        return None

    def nearest(self, value: float) -> float:
        """Return the nearest number in the range.

        >>> Range(5, 25).nearest(40), Range(5, 25).nearest(7)
        (25, 7)
        """
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of several named options; if ``or_numbers``, also a tuple of custom numbers.

    ``titles`` are the options' titles, in order; by default, an option is its own title.

    >>> distance = Choice(("kl", "cosine"), titles=("Kullback–Leibler", "Angle"))
    >>> distance.title("kl"), Choice(("whole-curve",)).title("whole-curve")
    ('Kullback–Leibler', 'Whole curve')
    """

    options: tuple[str | int, ...]
    or_numbers: bool = False
    titles: tuple[str, ...] = ()

    def title(self, option: object) -> str:
        """Return the title of an option, or of custom numbers."""
        if self.titles and option in self.options:
            return self.titles[self.options.index(option)]
        if isinstance(option, tuple):
            return ", ".join(f"{number:g}" for number in option)
        return in_words(option) if isinstance(option, str) else str(option)

    def without(self, options: Collection[object]) -> Choice:
        """Return the same choice without some options.

        >>> Choice(("kl", "cosine"), titles=("Kullback–Leibler", "Angle")).without(["kl"]).titles
        ('Angle',)
        """
        kept = [i for i, option in enumerate(self.options) if option not in options]
        titles = tuple(self.titles[i] for i in kept) if self.titles else ()
        return replace(self, options=tuple(self.options[i] for i in kept), titles=titles)

    def check(self, value: object) -> str | None:
        if self.or_numbers and isinstance(value, tuple):
            good = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)
            return None if good else "a tuple of numbers"
        known = not isinstance(value, bool) and value in self.options
        also = " or a tuple of numbers" if self.or_numbers else ""
        return None if known else "one of " + ", ".join(map(repr, self.options)) + also


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: object) -> str | None:
        return None if isinstance(value, bool) else "True or False"


@dataclass(frozen=True)
class ClassIndex:
    """Code of one class, 0..K-1; its control lists the classes of the current data."""

    def check(self, value: object) -> str | None:
        return None if isinstance(value, int) and value >= 0 else "a class code, 0 or more"


@dataclass(frozen=True)
class Numbers:
    """An ascending tuple of numbers."""

    def check(self, value: object) -> str | None:
        good = isinstance(value, tuple) and len(value) > 1 and list(value) == sorted(set(value))
        return None if good else "an ascending tuple of at least two different numbers"


@dataclass(frozen=True)
class Counts(Numbers):
    """A tuple of integers of at least 2, one per class; empty if not specified.

    >>> Counts().check((50, 100.0)), Counts().check((1.5,))
    (None, 'a tuple of whole numbers, each at least 2')
    """

    def check(self, value: object) -> str | None:
        good = isinstance(value, tuple) and all(
            isinstance(v, (int, float)) and not isinstance(v, bool) and v >= 2 and float(v).is_integer() for v in value
        )
        return None if good else "a tuple of whole numbers, each at least 2"


@dataclass(frozen=True)
class Distribution(Numbers):
    """A tuple of shares that sum to 1, one per class; empty if not specified.

    >>> Distribution().check((0.2, 0.8)), Distribution().check(()), Distribution().check((0.5, 0.6))
    (None, None, 'a tuple of shares from 0 to 1 that sum to 1, one per class')
    """

    def check(self, value: object) -> str | None:
        shares = Shares(0, 1_000_000).check(value) is None
        good = shares and isinstance(value, tuple) and (not value or abs(sum(value) - 1.0) <= 1e-6)
        return None if good else "a tuple of shares from 0 to 1 that sum to 1, one per class"


@dataclass(frozen=True)
class Shares(Numbers):
    """A tuple of shares from 0 to 1, with a minimum and a maximum length.

    >>> Shares(2, 3).check((0.1, 1)), Shares(2, 3).check((0.1,))
    (None, 'a tuple of 2 to 3 numbers, each from 0 to 1')
    """

    least: int = 2
    most: int = 21

    def check(self, value: object) -> str | None:
        good = (
            isinstance(value, tuple)
            and self.least <= len(value) <= self.most
            and all(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v <= 1 for v in value)
        )
        return None if good else f"a tuple of {self.least} to {self.most} numbers, each from 0 to 1"


@dataclass(frozen=True)
class Weights(Numbers):
    """A tuple of numbers of at least 0, one per member of another parameter; empty if not specified.

    >>> Weights().check((0.5, 2)), Weights().check((-1.0,))
    (None, 'a tuple of numbers, each at least 0')
    """

    def check(self, value: object) -> str | None:
        good = isinstance(value, tuple) and all(
            isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v < float("inf") for v in value
        )
        return None if good else "a tuple of numbers, each at least 0"


@dataclass(frozen=True)
class Text:
    """Custom text with a maximum length.

    >>> Text(3).check("owl"), Text(3).check("owls")
    (None, 'a text of at most 3 characters')
    """

    most: int

    def check(self, value: object) -> str | None:
        good = isinstance(value, str) and len(value) <= self.most
        return None if good else f"a text of at most {self.most} characters"


@dataclass(frozen=True)
class Part:
    """A member of another family, by its registry; ``able`` selects members by their flags."""

    family: str
    able: Callable[[Any], bool] = lambda flags: True

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the allowed members."""
        registry = FAMILIES[self.family]
        return tuple(key for key in registry if self.able(registry[key].flags))

    def check(self, value: object) -> str | None:
        entry = FAMILIES[self.family].find(value)
        known = entry is not None and self.able(entry.flags)
        return None if known else f"one of {self.family}: " + ", ".join(self.keys)


@dataclass(frozen=True)
class Members:
    """Several members of another family, in order: a tuple of at most ``most``.

    >>> Members("NO_FAMILY", 2).check("abc")
    'a list of at most 2 members of NO_FAMILY'
    """

    family: str
    most: int

    def check(self, value: object) -> str | None:
        known = isinstance(value, tuple) and all(FAMILIES[self.family].find(each) is not None for each in value)
        good = known and len(typing.cast("tuple[object, ...]", value)) <= self.most
        return None if good else f"a list of at most {self.most} members of {self.family}"


class NoRefit:
    """Marker for parameters that fitting does not use: after a change, the same fit is valid (``with_options``)."""


NO_REFIT = NoRefit()


@dataclass(frozen=True)
class Key:
    """Key of a member of another family, without parameters; or one of a few additional words.

    ``titles`` are the titles of these words, in order; ``able`` selects members by their flags.

    >>> Key("NO_FAMILY", ("all",)).words
    ('all',)
    """

    family: str
    words: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    able: Callable[[str], bool] = lambda key: True

    def title(self, option: str) -> str:
        """Return the title of an option: the member's, or the word's."""
        if option in self.words:
            return self.titles[self.words.index(option)] if self.titles else in_words(option)
        title: str = FAMILIES[self.family].entry(option).title
        return title

    @property
    def options(self) -> tuple[str, ...]:
        """Allowed words, then the keys of the members."""
        return (*self.words, *filter(self.able, FAMILIES[self.family]))

    def check(self, value: object) -> str | None:
        return None if value in self.options else f"one of {', '.join(map(repr, self.options))}"


Domain: TypeAlias = Range | Choice | Flag | ClassIndex | Numbers | Text | Part | Members | Key


@dataclass(frozen=True)
class Param:
    """One declared parameter: it defines the control, checks values and writes the recipe.

    ``label`` is its name for readers; by default, its own name in plain words.

    >>> Param("rows_per_bin", Flag(), False, "", False, False).label
    'Rows per bin'
    """

    name: str
    domain: Domain
    default: Any
    help: str
    integer: bool
    optional: bool
    refits: bool = True
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or in_words(self.name))

    def phrase(self, value: object) -> str:
        """Return the parameter with a value in words, as in a title.

        >>> Param("k", Range(1, 9), 3, "", True, False, label="How many ranks").phrase(5)
        'how many ranks 5'
        """
        name = inside(self.label)
        if isinstance(self.domain, Flag):
            return name if value else f"not {name}"
        if value is None:
            return f"no {name}"
        if isinstance(self.domain, Choice):
            return f"{name}: {inside(self.domain.title(value))}"
        if isinstance(self.domain, Key):
            return f"{name}: {inside(self.domain.title(str(value)))}"
        if members := (value,) if isinstance(value, Recipe) else _several(value):
            return f"{name}: {_some(members)}"
        return f"{name} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"

    def check(self, value: object) -> None:
        if value is None and self.optional:
            return
        wanted = self.domain.check(value)
        if wanted is None and self.integer and isinstance(value, float) and not value.is_integer():
            wanted = "a whole number"
        if wanted is not None:
            raise RegistryError(f"{self.name} is {value!r}; it must be {wanted}")


def params_of(cls: type[object]) -> tuple[Param, ...]:
    """Return parameters of a dataclass: fields annotated with a domain, then a label and a help text, or only help."""
    return _params_of(typing.cast("Hashable", cls))


@cache
def _params_of(cls: Any) -> tuple[Param, ...]:
    """Return the same, read once: presets ask for the parameters of the same class again."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(_param(f, hints[f.name]) for f in dataclasses.fields(cls) if f.init and _domain(hints[f.name]))


def _domain(hint: Any) -> Domain | None:
    marks = getattr(hint, "__metadata__", ())
    return next((m for m in marks if isinstance(m, Domain)), None)


def _param(f: dataclasses.Field[Any], hint: Any) -> Param:
    domain = _domain(hint)
    assert domain is not None
    *labels, text = [mark for mark in hint.__metadata__ if isinstance(mark, str)] or [""]
    kind = typing.get_args(hint)[0]
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    default = f.default if f.default is not dataclasses.MISSING else None
    if f.default_factory is not dataclasses.MISSING:
        default = f.default_factory()
    refits = NO_REFIT not in hint.__metadata__
    return Param(f.name, domain, default, text, int in kinds, type(None) in kinds, refits, "".join(labels[:1]))


def first_sentence(cls: type) -> str:
    """Return the first sentence of the class's docstring, which is its caption."""
    text = " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
    if not text:
        raise RegistryError(f"{cls.__name__} has no docstring; add one, whose first sentence becomes the caption")
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def _home(family: str) -> str:
    """Return a registry of the package as an expression, and any other by its name."""
    if family not in REGISTRIES:
        return family
    room = REGISTRIES[family].partition(".")[2]
    own = not room or family in import_module("calib_core").__all__
    return f"cc.{'' if own else f'{room}.'}{family}"


T = TypeVar("T")
MOST_PREFIXES = 4  # of one key: a link could nest them deeper than Python's recursion limit
Value: TypeAlias = "bool | int | float | str | tuple[float, ...] | Recipe | tuple[Recipe, ...] | None"


def _several(value: object) -> tuple[Recipe, ...]:
    """Recipes in a parameter's value that is a tuple of them; empty for all others."""
    return tuple(each for each in value if isinstance(each, Recipe)) if isinstance(value, tuple) else ()


def _some(members: tuple[Recipe, ...]) -> str:
    """Titles of one or two members, or the number of more."""
    if len(members) > 2:
        return f"{len(members)} {in_words(members[0].family).lower()}"
    return listed([inside(member.title.partition(",")[0]) for member in members])


@dataclass(frozen=True)
class Recipe:
    """Key of a member and its non-default parameters: hashable, JSON-serializable, rebuildable.

    It is used as cache key, share link, table index, report entry and "copy as Python".
    """

    family: str
    key: str
    params: tuple[tuple[str, Value], ...] = ()

    def build(self) -> Any:
        return FAMILIES[self.family].make(self.key, **dict(self.params))

    @property
    def title(self) -> str:
        """Title of the member, with its non-default parameters in parentheses, except weights of other members."""
        entry, params = FAMILIES[self.family].entry(self.key), dict(self.params)
        title = entry.title
        for name, value in self.params if entry.filled else ():
            # A title that begins with that of its part keeps its capital letter.
            if part := value.title if isinstance(value, Recipe) else _some(_several(value)):
                title = entry.filled.format(part)
                del params[name]
                break
        named = {name: entry.param(name) for name in params}
        shown = ", ".join(p.phrase(params[name]) for name, p in named.items() if not isinstance(p.domain, Weights))
        return title + (f" ({shown})" if shown else "")

    def without(self, *names: str) -> Recipe:
        """Return the recipe with these parameters at their defaults."""
        return dataclasses.replace(self, params=tuple(param for param in self.params if param[0] not in names))

    @property
    def late(self) -> dict[str, Value]:
        """Options that fitting does not use."""
        entry = FAMILIES[self.family].entry(self.key)
        return {name: value for name, value in self.params if not entry.param(name).refits}

    @property
    def fitting(self) -> Recipe:
        """Return the recipe without options that fitting does not use: equal for members that share a fit."""
        return dataclasses.replace(self, params=tuple(pair for pair in self.params if pair[0] not in self.late))

    def to_dict(self) -> dict[str, object]:
        params = {name: _plain(value) for name, value in self.params}
        return {"key": self.key, **({"params": params} if params else {})}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))

    def python(self) -> str:
        """Python expression that creates this member."""
        params = "".join(f", {name}={_expression(value)}" for name, value in self.params)
        return f"{_home(self.family)}.make({self.key!r}{params})"

    @classmethod
    def from_dict(cls, family: str, data: object) -> Recipe:
        """Parse a recipe from JSON data and check it against its registry; RegistryError reports faults."""
        if isinstance(data, str):
            data = {"key": data}
        if not isinstance(data, Mapping) or not isinstance(data.get("key"), str):
            raise RegistryError(f"a recipe of {family} needs a key, but is {str(data)[:80]}")
        registry, params = FAMILIES[family], data.get("params", {})
        if not isinstance(params, Mapping):
            raise RegistryError(f"params of {data['key'][:80]!r} must be an object")
        entry = registry.entry(data["key"])
        return registry.described(entry.key, **{str(name): entry.read(str(name), v) for name, v in params.items()})


def _plain(value: Value) -> object:
    """A parameter's value as JSON data."""
    if isinstance(value, Recipe):
        return value.to_dict()
    return [each.to_dict() for each in _several(value)] or value


def _expression(value: Value) -> str:
    """A parameter's value as a Python expression."""
    if isinstance(value, Recipe):
        return value.python()
    members = [each.python() for each in _several(value)]
    return f"({', '.join(members)},)" if members else repr(value)


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A registered member: key, title, caption, parameters, reference and declared flags.

    ``reference`` is shown to readers: authors and year. ``elsewhere`` is the equivalent in a well-known package, or the
    difference to it, verified by reading its source and running it. ``formula`` is TeX for KaTeX.
    ``filled`` is the title with a chosen part, whose own title replaces the braces.
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

    def makes(self, member: object) -> bool:
        """True if this entry could have created the member."""
        if type(member) is not self.cls:
            return False
        return all(
            type(getattr(member, name)) is type(value) if name == self.lift else _same(getattr(member, name), value)
            for name, value in self.fixed.items()
        )

    def value(self, member: object, param: Param) -> Any:
        """Return the member's value of a parameter, its own or that of its lifted part."""
        return getattr(member if hasattr(member, param.name) else getattr(member, self.lift), param.name)

    def has(self, name: str) -> bool:
        """True if it has a parameter of this name."""
        return any(param.name == name for param in self.params)

    def param(self, name: str) -> Param:
        for param in self.params:
            if param.name == name:
                return param
        known = ", ".join(p.name for p in self.params) or "none"
        raise RegistryError(f"{self.key!r} has no parameter {name!r}; its parameters: {known}")

    def read(self, name: str, value: object) -> Any:
        """Convert JSON data to a parameter's value: parts become members, lists become tuples."""
        domain = self.param(name).domain
        if isinstance(domain, Part) and isinstance(value, (str, Mapping)):
            return Recipe.from_dict(domain.family, value).build()
        if isinstance(domain, Members) and isinstance(value, (list, tuple)):
            return tuple(Recipe.from_dict(domain.family, each).build() for each in value)
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
        if isinstance(param.domain, Members) and isinstance(value, (list, tuple)):
            family = FAMILIES[param.domain.family]
            value = tuple(family.recipe(each).build() if isinstance(each, (str, Recipe)) else each for each in value)
        param.check(value)
        return int(value) if param.integer and value is not None else value


@dataclass(frozen=True)
class Prefix(Generic[T]):
    """A composition named ``prefix + KEY``: it wraps members of any entry, and recognizes its own members."""

    prefix: str
    title: str
    wrap: Callable[[T], T]
    unwrap: Callable[[object], T | None]
    reference: str = ""


class _Families(dict[str, "Registry[Any]"]):
    """Registries by name; those of the package are loaded on first use."""

    def __missing__(self, family: str) -> Registry[Any]:
        if family not in REGISTRIES:
            raise KeyError(family)
        registry: Registry[Any] = getattr(import_module(REGISTRIES[family]), family)
        return registry


FAMILIES = _Families()
"""All registries by public name."""


class Registry(Generic[T]):
    """An extensible family: members are registered by a decorator and found by key.

    ``flags``: default declarations of members; ``names``: aliases of keys; ``asides``: hints for unknown keys.

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
        self,
        key: str,
        title: str,
        *,
        reference: str = "",
        flags: object = None,
        elsewhere: str = "",
        formula: str = "",
        filled: str = "",
    ) -> Callable[[type[T]], type[T]]:
        """Class decorator that registers a dataclass; its annotated fields become its parameters."""

        def add(cls: type[T]) -> type[T]:
            declared = self._undeclared if flags is None else flags
            caption = first_sentence(cls)
            entry = Entry(key, title, caption, cls, params_of(cls), reference, declared, cls)
            self._add(dataclasses.replace(entry, elsewhere=elsewhere, formula=formula, filled=filled))
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
        flags: object = None,
        elsewhere: str = "",
        formula: str = "",
        filled: str = "",
        **fixed: Any,
    ) -> None:
        """Register a class with some fixed parameters; it declares what the class does, or ``flags``.

        ``lift`` names a fixed part whose parameters become this member's. Top-label histogram binning, for example, has
        its own points-per-bin control, although the number belongs to its binary part.
        """
        # Fitted maps contain copies of the part, so all its parameters belong to the fit.
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
        """Register a prefix that composes with every key, such as ``ts+``."""
        self._prefixes[prefix.prefix] = prefix

    def make(self, key: str, /, **params: Any) -> T:
        """Create the member with this key and these parameters."""
        return self.entry(key).make(**params)

    def entry(self, key: str) -> Entry[T]:
        key = self.names.get(key, key)
        if key in self._entries:
            return self._entries[key]
        for prefix in self._prefixes.values():
            if key.startswith(prefix.prefix) and key.count(prefix.prefix) <= MOST_PREFIXES:
                return self._composed(prefix, self.entry(key.removeprefix(prefix.prefix)))
        raise UnknownKey(self.family, key, self._similar(key), self.asides.get(key, ""))

    def _similar(self, key: str) -> tuple[str, ...]:
        """Return keys similar to this one; without any, the keys whose titles contain it."""
        near = difflib.get_close_matches(key, self._entries, n=2)
        words = in_words(key).casefold()
        titled = [other for other, entry in self._entries.items() if words and words in entry.title.casefold()]
        return tuple(near or titled[:2])

    __getitem__ = entry

    def find(self, member: object) -> Entry[T] | None:
        """Return the most specific entry that could have created this member; None for members of other families."""
        makers = [entry for entry in self._entries.values() if entry.cls is type(member) and entry.makes(member)]
        return max(makers, key=lambda entry: len(entry.fixed), default=None)

    def flags(self, member: object) -> Any:
        """Return the declarations of this member's entry; unregistered members have the family's defaults."""
        entry = self.find(member)
        return self._undeclared if entry is None else entry.flags

    def recipe(self, member: object) -> Recipe:
        """Return the recipe that recreates this member."""
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
        """Return the recipe of ``make(key, **params)`` with this exact key and checked parameters."""
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
        """Remove an entry (to reload a plug-in, or after a test)."""
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
    if isinstance(param.domain, Members):
        return tuple(FAMILIES[param.domain.family].recipe(each) for each in value)
    plain: Value = value
    return plain


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a) if f.init)
    return bool(a == b)


def _fresh(value: Any, changes: Mapping[str, Any]) -> Any:
    """Copy a part for every new member: fitted state must not be shared."""
    if isinstance(value, tuple):
        return tuple(_fresh(each, {}) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _fresh(getattr(value, f.name), {}) for f in dataclasses.fields(value) if f.init}
        return type(value)(**{**fields, **changes})
    return value
