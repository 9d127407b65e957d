"""Every choice on screen as one frozen value, and its query string: a link reopens the same picture."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calib_core import BINNINGS, CALIBRATORS, REDUCTIONS, InputError, Recipe, RegistryError
from calib_core.datasets import DEMOS
from calib_core.readers import Reading

VIEWS = ("data", "reliability", "classes", "calibrators", "estimators")
SORTS = ("error", "share", "rows", "name")
BINS = (5, 25)
CURVES = ("reliability", "validity", "kernel")
OVERLAYS = ("none", "wilson", "consistency", "corp", "kernel")
READING_CHARS = 30_000
MOST_OTHERS = 7


@dataclass(frozen=True)
class Source:
    """Which rows calibrators are fitted on and which they are judged on.

    ``data`` and ``test`` name files: "demo:KEY", or "sha256:HASH" of an upload. With ``test`` the calibration rows
    are all of ``data``; else ``data`` is split by its split column (``by`` = "column") or at random ("share").
    ``reading`` and ``test_reading`` hold what the user changed in how the files are read, as JSON. Another model's
    predictions on the same rows are divided ``like`` those they are compared with.
    """

    data: str = f"demo:{DEMOS[0].key}"
    reading: str = ""
    test: str = ""
    test_reading: str = ""
    by: str = "auto"
    share: float = 0.5
    seed: int = 0
    like: Source | None = None


@dataclass(frozen=True)
class Selection:
    """All choices: the source of rows, the view, the ticked calibrators, the bins, and each view's own choices.

    ``others`` are files of other models on the same rows, each with what was changed in how it is read.
    """

    source: Source = Source()
    others: tuple[tuple[str, str], ...] = ()
    view: str = "reliability"
    calibrators: tuple[Recipe, ...] = (Recipe("CALIBRATORS", "temperature"),)
    binning: str = "equal-width"
    bins: int = 10
    zoom: int | None = None
    model: str = ""
    notion: str = "top-label"
    sort: str = "error"
    search: str = ""
    page: int = 1
    curve: str = "reliability"
    map_of: str = ""
    stratum: int = 0
    asked: str = "top-label"
    slow: bool = False
    about: str = "ece"
    eps: float = 0.02
    overlay: str = "none"
    at: float = 0.8

    @property
    def sources(self) -> tuple[Source, ...]:
        """The rows of every model compared, those of the file in use first."""
        return self.source, *(Source(data, reading, like=self.source) for data, reading in self.others)

    @property
    def files(self) -> tuple[str, ...]:
        """Keys of the files compared, the one in use first."""
        return self.source.data, *(data for data, _ in self.others)

    @property
    def scheme(self) -> Recipe:
        """The binning scheme chosen."""
        return BINNINGS.described(self.binning, bins=self.bins)

    def replace(self, **changes: Any) -> Selection:
        """The same choices but for some; fields of the source are changed by their own names."""
        inner = {name: value for name, value in changes.items() if name in _SOURCE}
        outer = {name: value for name, value in changes.items() if name not in _SOURCE}
        return dataclasses.replace(self, source=dataclasses.replace(self.source, **inner), **outer)

    def value(self, name: str) -> Any:
        """A choice by name, the source's included."""
        return getattr(self.source if name in _SOURCE else self, name)

    def to_query(self) -> dict[str, str]:
        """The choices that differ from the defaults, as query parameters."""
        plain = Selection()
        changed = {name: self.value(name) for name in _READERS if self.value(name) != plain.value(name)}
        return {name: _written(value) for name, value in changed.items()}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple[Selection, tuple[str, ...]]:
        """The choices a link asks for, and one sentence for each part of it that could not be used.

        >>> Selection.from_query({"bins": "7", "view": "nowhere"})[0].bins
        7
        """
        selection, problems = cls(), []
        for name, text in query.items():
            if name not in _READERS:
                continue
            try:
                selection = selection.replace(**{name: _READERS[name](text)})
            except (ValueError, TypeError, RecursionError) as why:
                said = str(why) if isinstance(why, RegistryError) else f"{text[:80]!r} is not possible"
                problems.append(f"The link's {name} was left out: {said}.")
        return selection, tuple(problems)


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        plain = [item.to_dict() if isinstance(item, Recipe) else item for item in value]
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else str(value)


def _calibrators(text: str) -> tuple[Recipe, ...]:
    data = json.loads(text)
    if not isinstance(data, list) or len(data) > 12:
        raise RegistryError("calibrators must be a list of at most 12 recipes")
    return tuple(dict.fromkeys(Recipe.from_dict("CALIBRATORS", item) for item in data))


def _others(text: str) -> tuple[tuple[str, str], ...]:
    data = json.loads(text)
    if not isinstance(data, list) or len(data) > MOST_OTHERS:
        raise RegistryError(f"others must be a list of at most {MOST_OTHERS} files")
    return tuple(dict.fromkeys((_short(key), _reading(changed)) for key, changed in data))


def _one_of(*options: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in options:
            raise ValueError(text)
        return text

    return read


def _within(low: float, high: float, kind: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return read


def _short(text: str) -> str:
    return text[:2000]


def _reading(text: str) -> str:
    # Not cut: half a JSON object is none.
    if len(text) > READING_CHARS:
        raise ValueError(text)
    return text


def written_changes(proposal: Reading | None, reading: Reading) -> str:
    """What in a reading differs from the proposal, as JSON; empty when nothing does.

    A link with the changes only stays short where there are a thousand classes.

    >>> r = Reading(scores=("p",), label=("y",))
    >>> written_changes(r, r.replace(kind="logits")), written_changes(r, r)
    ('{"kind":"logits"}', '')
    """
    if proposal is None:
        return reading.to_json()
    held = {f.name: getattr(reading, f.name) for f in dataclasses.fields(Reading)}
    changed = {name: value for name, value in held.items() if value != getattr(proposal, name)}
    return json.dumps(changed, sort_keys=True, ensure_ascii=False, separators=(",", ":")) if changed else ""


def with_changes(proposal: Reading | None, changed: str) -> Reading:
    """The reading that ``written_changes`` wrote down; InputError for anything else.

    >>> with_changes(Reading(scores=("p",), label=("y",)), '{"kind":"logits"}').kind
    'logits'
    """
    if proposal is None or not changed:
        return proposal or Reading.from_json(changed)
    try:
        held = json.loads(changed)
    except (ValueError, RecursionError) as why:
        raise InputError("The changes to the reading are not valid JSON: choose the columns again.") from why
    if not isinstance(held, dict):
        raise InputError("The changes to the reading are not a JSON object: choose the columns again.")
    return proposal.replace(**held)


def binned_schemes() -> tuple[str, ...]:
    """Keys of the schemes that take a number of bins."""
    return tuple(key for key in BINNINGS if any(p.name == "bins" for p in BINNINGS[key].params))


def class_notions() -> tuple[str, ...]:
    """Keys of the notions whose strata are the classes."""
    return tuple(key for key in ("top-label", "class-wise") if key in REDUCTIONS)


def model_keys() -> tuple[str, ...]:
    """Keys of the calibrators that can be ticked; the base model is always shown."""
    return tuple(key for key in CALIBRATORS if key != "identity")


_SOURCE = frozenset(field.name for field in dataclasses.fields(Source))
_READERS: dict[str, Callable[[str], Any]] = {
    "data": _short,
    "reading": _reading,
    "test": _short,
    "test_reading": _reading,
    "by": _one_of("auto", "column", "share"),
    "share": _within(0.05, 0.95, float),
    "seed": _within(0, 2**31 - 1, int),
    "others": _others,
    "view": _one_of(*VIEWS),
    "calibrators": _calibrators,
    "binning": lambda text: _one_of(*binned_schemes())(text),
    "bins": _within(*BINS, int),
    "zoom": lambda text: _within(0, 10_000, int)(text) if text else None,
    "model": _short,
    "notion": lambda text: _one_of(*class_notions())(text),
    "sort": _one_of(*SORTS),
    "search": _short,
    "page": _within(1, 10_000, int),
    "curve": _one_of(*CURVES),
    "map_of": _short,
    "stratum": _within(0, 1_000_000, int),
    "asked": lambda text: _one_of(*REDUCTIONS)(text),
    "slow": lambda text: _one_of("True", "False")(text) == "True",
    "about": _short,
    "eps": _within(0.0001, 0.5, float),
    "at": _within(0.0, 1.0, float),
    "overlay": lambda text: _one_of(*OVERLAYS)(text),
}
