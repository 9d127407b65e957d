"""Parameters of registered members: what their values may be, declared beside the fields that hold them."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from calib_core._base.providers import provided
from calib_core.text import begun, inside


class Family(Protocol):
    """What a parameter reads of the registry of its members."""

    def __iter__(self) -> Iterator[str]: ...

    def __getitem__(self, key: str) -> Any: ...

    def find(self, value: Any) -> Any: ...

    def entry(self, key: str) -> Any: ...


def _family(name: str) -> Family:
    """The registry that parameters name."""
    families: Mapping[str, Family] = provided("families")
    return families[name]


def in_words(name: str) -> str:
    """A key or a name of the code in plain words, where nobody gave it a title.

    >>> in_words("whole-curve"), in_words("rows_per_bin")
    ('Whole curve', 'Rows per bin')
    """
    return begun(name.replace("_", " ").replace("-", " "))


class RegistryError(ValueError):
    """An unknown key or parameter, or a value outside its domain; the message lists what is allowed."""


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both included; ``log`` asks for a logarithmic control."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def check(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self.low <= value <= self.high:
            return f"a number from {self.low:g} to {self.high:g}"
        return None

    def nearest(self, value: float) -> float:
        """The number of the range that is nearest to this one.

        >>> Range(5, 25).nearest(40), Range(5, 25).nearest(7)
        (25, 7)
        """
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of a few named options; with ``or_numbers`` also a tuple of numbers of one's own.

    ``titles`` say the options in words, in turn; without them an option is its own title.

    >>> distance = Choice(("kl", "cosine"), titles=("Kullback–Leibler", "Angle"))
    >>> distance.title("kl"), Choice(("whole-curve",)).title("whole-curve")
    ('Kullback–Leibler', 'Whole curve')
    """

    options: tuple[str | int, ...]
    or_numbers: bool = False
    titles: tuple[str, ...] = ()

    def title(self, option: Any) -> str:
        """An option, or numbers of one's own, as a reader sees it."""
        if self.titles and option in self.options:
            return self.titles[self.options.index(option)]
        if isinstance(option, tuple):
            return ", ".join(f"{number:g}" for number in option)
        return in_words(option) if isinstance(option, str) else str(option)

    def without(self, options: Collection[Any]) -> Choice:
        """The same choice of fewer options.

        >>> Choice(("kl", "cosine"), titles=("Kullback–Leibler", "Angle")).without(["kl"]).titles
        ('Angle',)
        """
        kept = [i for i, option in enumerate(self.options) if option not in options]
        titles = tuple(self.titles[i] for i in kept) if self.titles else ()
        return replace(self, options=tuple(self.options[i] for i in kept), titles=titles)

    def check(self, value: Any) -> str | None:
        if self.or_numbers and isinstance(value, tuple):
            good = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)
            return None if good else "a tuple of numbers"
        known = not isinstance(value, bool) and value in self.options
        also = " or a tuple of numbers" if self.or_numbers else ""
        return None if known else "one of " + ", ".join(map(repr, self.options)) + also


@dataclass(frozen=True)
class Flag:
    """Yes or no."""

    def check(self, value: Any) -> str | None:
        return None if isinstance(value, bool) else "True or False"


@dataclass(frozen=True)
class ClassIndex:
    """The code of one class, 0..K-1; its control lists the classes of the data at hand."""

    def check(self, value: Any) -> str | None:
        return None if isinstance(value, int) and value >= 0 else "a class code, 0 or more"


@dataclass(frozen=True)
class Numbers:
    """An ascending tuple of numbers."""

    def check(self, value: Any) -> str | None:
        good = isinstance(value, tuple) and len(value) > 1 and list(value) == sorted(set(value))
        return None if good else "an ascending tuple of at least two different numbers"


@dataclass(frozen=True)
class Counts(Numbers):
    """A tuple of whole numbers of at least 2, one a class in turn; empty where none is given.

    >>> Counts().check((50, 100.0)), Counts().check((1.5,))
    (None, 'a tuple of whole numbers, each at least 2')
    """

    def check(self, value: Any) -> str | None:
        good = isinstance(value, tuple) and all(
            isinstance(v, (int, float)) and not isinstance(v, bool) and v >= 2 and float(v).is_integer() for v in value
        )
        return None if good else "a tuple of whole numbers, each at least 2"


@dataclass(frozen=True)
class Shares(Numbers):
    """A tuple of shares, each from 0 to 1: at least so many, at most so many.

    >>> Shares(2, 3).check((0.1, 1)), Shares(2, 3).check((0.1,))
    (None, 'a tuple of 2 to 3 numbers, each from 0 to 1')
    """

    least: int = 2
    most: int = 21

    def check(self, value: Any) -> str | None:
        good = isinstance(value, tuple) and self.least <= len(value) <= self.most
        good = good and all(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v <= 1 for v in value)
        return None if good else f"a tuple of {self.least} to {self.most} numbers, each from 0 to 1"


@dataclass(frozen=True)
class Text:
    """A text of one's own, of at most so many characters.

    >>> Text(3).check("owl"), Text(3).check("owls")
    (None, 'a text of at most 3 characters')
    """

    most: int

    def check(self, value: Any) -> str | None:
        good = isinstance(value, str) and len(value) <= self.most
        return None if good else f"a text of at most {self.most} characters"


@dataclass(frozen=True)
class Part:
    """A member of another family, named by its registry; ``able`` narrows it to those whose flags it says yes to."""

    family: str
    able: Callable[[Any], bool] = lambda flags: True

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the members it may be."""
        registry = _family(self.family)
        return tuple(key for key in registry if self.able(registry[key].flags))

    def check(self, value: Any) -> str | None:
        entry = _family(self.family).find(value)
        known = entry is not None and self.able(entry.flags)
        return None if known else f"one of {self.family}: " + ", ".join(self.keys)


class NoRefit:
    """The mark of a parameter that fitting does not read: changed, the same fit answers (``with_options``)."""


NO_REFIT = NoRefit()


@dataclass(frozen=True)
class Key:
    """The key of a member of another family as it is, without parameters; or one of a few words beside them.

    ``titles`` say those words to a reader, in turn; ``able`` narrows the members to those it says yes to.

    >>> Key("NO_FAMILY", ("all",)).words
    ('all',)
    """

    family: str
    words: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    able: Callable[[str], bool] = lambda key: True

    def title(self, option: str) -> str:
        """An option as a reader sees it: the member's title, or the word's."""
        if option in self.words:
            return self.titles[self.words.index(option)] if self.titles else in_words(option)
        title: str = _family(self.family).entry(option).title
        return title

    @property
    def options(self) -> tuple[str, ...]:
        """The words, then the keys there are."""
        return (*self.words, *filter(self.able, _family(self.family)))

    def check(self, value: Any) -> str | None:
        return None if value in self.options else f"one of {', '.join(map(repr, self.options))}"


Domain: TypeAlias = Range | Choice | Flag | ClassIndex | Numbers | Text | Part | Key


@dataclass(frozen=True)
class Param:
    """One declared parameter: what generates its control, checks its value and writes its recipe.

    ``label`` names it to readers; where none is declared, its name does in plain words.

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

    def phrase(self, value: Any) -> str:
        """The parameter and a value in words, as they stand in a title.

        >>> Param("k", Range(1, 9), 3, "", True, False, label="How many ranks").phrase(5)
        'how many ranks 5'
        """
        name = inside(self.label)
        if isinstance(self.domain, Flag):
            return name if value else f"not {name}"
        if value is None:
            return f"no {name}"
        if isinstance(self.domain, (Choice, Key)):
            title = self.domain.title(value)
            return f"{name}: {inside(title)}"
        return f"{name} {value.title if isinstance(self.domain, Part) else value}"

    def check(self, value: Any) -> None:
        if value is None and self.optional:
            return
        wanted = self.domain.check(value)
        if wanted is None and self.integer and isinstance(value, float) and not value.is_integer():
            wanted = "a whole number"
        if wanted is not None:
            raise RegistryError(f"{self.name} is {value!r}; it must be {wanted}")


def params_of(cls: Any) -> tuple[Param, ...]:
    """Parameters from a dataclass: each field annotated with a domain, then a label and a help text, or help alone."""
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
    """What a member's class says it is: the beginning of its docstring."""
    text = " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
    if not text:
        raise RegistryError(f"{cls.__name__} has no docstring; its first sentence is shown as the caption")
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text
