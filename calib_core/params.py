"""Parameters of registered members: what their values may be, declared beside the fields that hold them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from calib_core.registry import Registry

FAMILIES: dict[str, Registry[Any]] = {}
"""Every registry by its public name."""


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
    """One of a few named options; with ``or_numbers`` also a tuple of numbers of one's own."""

    options: tuple[str | int, ...]
    or_numbers: bool = False

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
        registry = FAMILIES[self.family]
        return tuple(key for key in registry if self.able(registry[key].flags))

    def check(self, value: Any) -> str | None:
        entry = FAMILIES[self.family].find(value)
        known = entry is not None and self.able(entry.flags)
        return None if known else f"one of {self.family}: " + ", ".join(self.keys)


class NoRefit:
    """The mark of a parameter that fitting does not read: changed, the same fit answers (``with_options``)."""


NO_REFIT = NoRefit()


@dataclass(frozen=True)
class Key:
    """The key of a member of another family as it is, without parameters; or one of a few words beside them.

    >>> Key("NO_FAMILY", ("all",)).words
    ('all',)
    """

    family: str
    words: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The words, then the keys there are."""
        return (*self.words, *FAMILIES[self.family])

    def check(self, value: Any) -> str | None:
        return None if value in self.options else f"one of {', '.join(map(repr, self.options))}"


Domain: TypeAlias = Range | Choice | Flag | ClassIndex | Numbers | Text | Part | Key


@dataclass(frozen=True)
class Param:
    """One declared parameter: what generates its control, checks its value and writes its recipe."""

    name: str
    domain: Domain
    default: Any
    help: str
    integer: bool
    optional: bool
    refits: bool = True

    def check(self, value: Any) -> None:
        if value is None and self.optional:
            return
        wanted = self.domain.check(value)
        if wanted is None and self.integer and isinstance(value, float) and not value.is_integer():
            wanted = "a whole number"
        if wanted is not None:
            raise RegistryError(f"{self.name} is {value!r}; it must be {wanted}")


def params_of(cls: Any) -> tuple[Param, ...]:
    """Parameters from a dataclass: each field annotated with a domain and a help text."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(_param(f, hints[f.name]) for f in dataclasses.fields(cls) if f.init and _domain(hints[f.name]))


def _domain(hint: Any) -> Domain | None:
    marks = getattr(hint, "__metadata__", ())
    return next((m for m in marks if isinstance(m, Domain)), None)


def _param(f: dataclasses.Field[Any], hint: Any) -> Param:
    domain = _domain(hint)
    assert domain is not None
    text = next((m for m in hint.__metadata__ if isinstance(m, str)), "")
    kind = typing.get_args(hint)[0]
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    default = f.default if f.default is not dataclasses.MISSING else None
    if f.default_factory is not dataclasses.MISSING:
        default = f.default_factory()
    refits = NO_REFIT not in hint.__metadata__
    return Param(f.name, domain, default, text, integer=int in kinds, optional=type(None) in kinds, refits=refits)
