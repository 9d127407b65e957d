"""Choices on screen as one frozen value, and its query string: a link reopens the same page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeGuard

from calib_core import CALIBRATORS, REDUCTIONS, Recipe, RegistryError
from calib_core.columns.conditions import Slice
from calib_core.datasets import DEMOS
from calib_core.defaults import BINS, JUDGED_FOLDS, RATIO, SEED, TOLERANCE
from calib_core.predictions.three_classes import OTHERS
from calib_core.registry.registry import Choice, Param, Text, UnknownKey
from dashboard.navigation import STOPS, view_key
from dashboard.schemes import AUTO, NUMBERS, counted_by, interval_schemes, scheme_of, simplex_schemes

FEWEST, MOST = 5, 25
"""Smallest and largest number of bins that can be chosen."""
MOST_POINTS = 2000
MOST_FOLDS = 20
READING_CHARS = 30_000
MOST_OTHERS = 7
MOST_CALIBRATORS = 12
MOST_PARTITIONS = 6
NONE = ""
"""File name before any file has been opened."""
COLUMNS = ("single", "double")
"""Column widths of a journal in which figures can be exported."""
STYLES = ("review", "validation")
"""Arrangements of a report: for reviewers of a model, or for a paper on its external validation."""
SHARED = {
    "benchmark": ("arena", "arena-ranks"),
    "costs": ("decisions", "recommendation"),
    "coverage": ("selective", "skills"),
    "threshold": ("decision-curve", "net-benefit"),
    "truth": ("lab-curve", "lab-errors"),
    "seed": ("lab-curve", "lab-errors"),
}
"""Options shared by several exhibits: a choice in one applies to all."""
ADVICE = "recommendation"
"""Key of the exhibit whose options state what the probabilities are used for."""
RATIOS = (1.01, 10.0)
"""Range of tolerances that can be chosen for the ratio of observed to expected events."""
MIN_ROWS = (1, 100)
"""Range of the minimum number of rows per cell for an arrow."""


@dataclass(frozen=True)
class Source:
    """Rows that calibrators are fitted on, and rows that they are evaluated on.

    ``data`` and ``test`` name files: "demo:KEY", "sha256:HASH" of an upload, or nothing yet (``NONE``). The division of
    the rows depends on ``by``:

    - With ``test``, the calibration rows are all of ``data``.
    - "column": the split column of ``data`` divides it.
    - "share": ``data`` is divided at random.
    - "folds": all of ``data`` is evaluated by cross-fitting in ``folds`` folds.

    The other fields:

    - ``reading`` and ``test_reading`` are the user's changes to how the files are read, as JSON.
    - ``like``: another model's predictions on the same rows are divided like those of this file.
    - ``corners`` merges the classes into three (`written_corners`); empty for all classes.
    - ``within`` is the text of the selected slice of the test rows (`calib_core.slices.Slice`); empty for all rows.
    """

    data: str = f"demo:{DEMOS[0].key}"
    reading: str = ""
    test: str = ""
    test_reading: str = ""
    by: str = "auto"
    share: float = 0.5
    folds: int = JUDGED_FOLDS
    seed: int = SEED
    like: Source | None = None
    corners: str = ""
    within: str = ""

    @property
    def everywhere(self) -> Source:
        """Return the same source without a slice: all test rows."""
        like = None if self.like is None else self.like.everywhere
        return dataclasses.replace(self, like=like, within="")


@dataclass(frozen=True)
class Focus:
    """Current focus: a model, a notion, and a place in the pictures.

    The same names are used by a ``Selection``, by links, and by the records of a figure's marks and columns. A chart
    sends such a record when clicked, and compares the records with its focus.

    Parameters
    ----------
    model : title of the model; empty: the first.
    notion : notion of calibration; empty if none was chosen.
    bin : number of a bin of the reliability diagram.
    between : a range of confidence or risk in place of a bin.
    code : position of a class: of rows predicted as it, or of claims about it.
    label : position of the true class of rows predicted as ``code``.
    cell : number of a cell of the triangle.
    """

    model: str = ""
    notion: str = ""
    bin: int | None = None
    between: tuple[float, float] | None = None
    code: int | None = None
    label: int | None = None
    cell: int | None = None

    @property
    def place(self) -> dict[str, Any]:
        """Return the known coordinates of the place, by name."""
        return {name: value for name in PLACES if (value := getattr(self, name)) is not None}

    @staticmethod
    def chosen(record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the choices that the record of a click makes; empty if the record is about something else.

        >>> Focus.chosen({"model": "net", "bin": 3, "count": 12})
        {'model': 'net', 'bin': 3, 'between': None}
        >>> Focus.chosen({"low": 0.5, "high": 0.75}), Focus.chosen({"estimator": "ece"})
        ({'between': (0.5, 0.75), 'bin': None}, {})
        """
        if record.get("clear") is True:
            return dict(NOWHERE)
        kinds = {"model": str, "bin": int, "code": int, "label": int, "cell": int}
        found: dict[str, Any] = {
            name: record[name] for name, kind in kinds.items() if isinstance(record.get(name), kind)
        }
        if "code" in found:
            found.setdefault("label", None)  # another class, or all rows predicted as it
        # The record of a mark may contain the ends of an interval among other entries; a range of the axis has only
        # those two.
        ends = [record["low"], record["high"]] if record.keys() == {"low", "high"} else record.get("between")
        if _is_range(ends):
            return found | {"between": (float(ends[0]), float(ends[1])), "bin": None}
        return found | ({"between": None} if "bin" in found else {})


PLACES = ("bin", "between", "code", "label", "cell")
"""Names of a focus that identify a place in the pictures; the browser's are in chart/assets/records.js."""
NOWHERE: Mapping[str, Any] = MappingProxyType(dict.fromkeys(PLACES))
"""Choices of a page without a selected place."""


def _is_range(ends: Any) -> TypeGuard[Sequence[float]]:
    if not (isinstance(ends, list | tuple) and len(ends) == 2):
        return False
    low, high = ends
    return isinstance(low, int | float) and isinstance(high, int | float) and 0 <= low < high <= 1


@dataclass(frozen=True)
class Selection:
    """Choices of a page: the source of rows, the view, the ticked calibrators, the bins, and the choices of each view.

    - ``others`` are files of other models on the same rows, each with the changes to how it is read.
    - ``exhibits`` are those whose options differ from the defaults.
    - ``notion`` is the chosen one; empty for that of the verdict.
    - ``confidence`` and ``risk`` are the level in the overview's sentence, None for the default. Two classes are
      evaluated by the risk of their event. The exceptions are a ``notion`` about the predicted class, and a
      ``confidence`` only, as in old links.
    - ``question`` is the question about the ticked calibrators, empty for the first.
    - ``tour`` is the stop of the guided tour, 0 outside it.
    - ``calibrators`` has the default of a report's record; if nobody chose any, `dashboard.frame.fitting` ticks.
    """

    source: Source = Source()
    others: tuple[tuple[str, str], ...] = ()
    view: str = "overview"
    calibrators: tuple[Recipe, ...] = (Recipe("CALIBRATORS", "temperature"),)
    binning: str = AUTO
    bins: int = BINS
    points: int = 50
    counting: str = "answered"
    bin: int | None = None
    between: tuple[float, float] | None = None
    model: str = ""
    notion: str = ""
    about: str = "ece"
    eps: float = TOLERANCE
    ratio: float = RATIO
    confidence: float | None = None
    risk: float | None = None
    present: bool = False
    code: int | None = None
    label: int | None = None
    three: str = ""
    partitions: tuple[Recipe, ...] = field(default_factory=lambda: tuple(map(_partition, simplex_schemes()[:1])))
    part: int = 0
    cell: int | None = None
    title: str = ""
    author: str = ""
    left_out: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    style: str = STYLES[0]
    column: str = "double"
    question: str = ""
    tour: int = 0
    exhibits: tuple[Recipe, ...] = ()

    @property
    def focus(self) -> Focus:
        """Return the current focus in every picture."""
        return Focus(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Focus)})

    def exhibit(self, key: str) -> Recipe:
        """Return an exhibit with its chosen options."""
        return next((recipe for recipe in self.exhibits if recipe.key == key), Recipe("EXHIBITS", key))

    def with_exhibit(self, recipe: Recipe) -> Selection:
        """Return the same choices with new options of one exhibit, and of those that share them."""
        changed = {kept.key: kept for kept in self.exhibits} | {recipe.key: recipe}
        for name, keys in SHARED.items():
            value = {name: dict(recipe.params)[name]} if name in dict(recipe.params) else {}
            for key in keys if recipe.key in keys else ():
                params = {**dict(changed.get(key, Recipe("EXHIBITS", key)).without(name).params), **value}
                changed[key] = Recipe("EXHIBITS", key, tuple(params.items()))
        chosen = sorted((kept for kept in changed.values() if kept.params), key=lambda kept: kept.key)
        return dataclasses.replace(self, exhibits=tuple(chosen))

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the rows of every model compared, those of the current file first."""
        corners = self.source.corners
        rest = (Source(data, reading, like=self.source, corners=corners) for data, reading in self.others)
        return self.source, *rest

    @property
    def files(self) -> tuple[str, ...]:
        """Return the keys of the files compared, the current one first."""
        return self.source.data, *(data for data, _ in self.others)

    @property
    def readings(self) -> tuple[tuple[str, str], ...]:
        """Return the files compared, each with the changes to how it is read; a file may be read several times."""
        return (self.source.data, self.source.reading), *self.others

    @property
    def scheme(self) -> Recipe | None:
        """Return the chosen binning scheme; None for the default binning of each model."""
        return None if self.binning == AUTO else scheme_of(self.binning, bins=self.bins, points=self.points)

    def replace(self, **changes: Any) -> Selection:
        """Return the same choices with some of them changed; fields of the source are changed by their own names."""
        inner = {name: value for name, value in changes.items() if name in _SOURCE}
        outer = {name: value for name, value in changes.items() if name not in _SOURCE}
        return dataclasses.replace(self, source=dataclasses.replace(self.source, **inner), **outer)

    def value(self, name: str) -> Any:
        """Return a choice by name, including those of the source."""
        return getattr(self.source if name in _SOURCE else self, name)

    def to_query(self) -> dict[str, str]:
        """Return the choices that differ from the defaults, as query parameters; the calibrators always.

        A page without them ticks by default.
        """
        plain = Selection()
        changed = {name: self.value(name) for name in _READERS if self.value(name) != plain.value(name)}
        changed["calibrators"] = self.calibrators
        if changed.keys() & {"bins", "points"}:
            changed["binning"] = self.binning  # without it a number chooses a scheme that takes it
        return {name: _written(value) for name, value in changed.items()}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple[Selection, tuple[str, ...]]:
        """Return the choices that a link makes, and one sentence for each unusable part of it.

        >>> Selection.from_query({"bins": "7", "view": "nowhere"})[0].bins
        7
        """
        selection, faults = cls.parsed(query)
        reasons = [(name, why.brief if isinstance(why, UnknownKey) else f"{why}.") for name, why in faults]
        return selection, tuple(f"The link's {name} was left out: {reason}" for name, reason in reasons)

    @classmethod
    def parsed(cls, query: Mapping[str, str]) -> tuple[Selection, list[tuple[str, RegistryError]]]:
        """Return the choices of a query, and the name and error of each unusable part."""
        selection, faults = cls(), list[tuple[str, RegistryError]]()
        query = {**query, **MOVED_VIEWS.get(query.get("view", ""), {})}
        for written, text in query.items():
            name = MOVED.get(written, written)
            if name not in _READERS:
                continue
            try:
                selection = selection.replace(**{name: _READERS[name](text)})
            except (ValueError, TypeError, RecursionError) as why:
                impossible = RegistryError(f"{text[:80]!r} is not possible")
                faults.append((written, why if isinstance(why, RegistryError) else impossible))
            else:
                if name in NUMBERS and "binning" not in query:
                    # An explicit number takes precedence over the declared outputs.
                    selection = selection.replace(binning=counted_by(name))
        return selection, faults


MOVED_VIEWS = {"tables": {"view": "arena", "about": "paper-tables"}}
"""Views in links of release 0.3, and the choices that replace them; dropped in 0.4."""
MOVED = {"asked": "notion", "reduction": "notion", "zoom": "bin", "one": "code"}
"""Names in links of releases 0.2 and 0.3, and their present names; dropped in 0.4."""


def value_of(param: Param, text: str) -> Any:
    """Parse a text as the value of a parameter: one of its options, JSON, yes or no, or the text itself.

    >>> from calib_core.registry.registry import Flag
    >>> flag = Param("slow", Flag(), False, "", False, False)
    >>> [value_of(flag, text) for text in ("True", "no way", "3", "none")]
    [True, 'no way', 3, None]
    """
    if isinstance(param.domain, Text) or (isinstance(param.domain, Choice) and text in param.domain.options):
        return text
    words = {"true": True, "false": False, "none": None, "": None}
    if text.strip().casefold() in words:
        return words[text.strip().casefold()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        plain = [item.to_dict() if isinstance(item, Recipe) else item for item in value]
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, Recipe):
        return value.to_json()
    return "" if value is None else str(value)


def _recipes(name: str, family: str, most: int) -> Callable[[str], tuple[Recipe, ...]]:
    def read(text: str) -> tuple[Recipe, ...]:
        return tuple(dict.fromkeys(Recipe.from_dict(family, item) for item in _listed(text, name, most, "recipes")))

    return read


def _listed(text: str, name: str, most: int, what: str) -> list[Any]:
    """Parse a JSON list with a maximum length."""
    data = json.loads(text)
    if not isinstance(data, list) or len(data) > most:
        raise RegistryError(f"{name} must be a list of at most {most} {what}")
    return data


def _partitions(text: str) -> tuple[Recipe, ...]:
    recipes = _recipes("partitions", "BINNINGS", MOST_PARTITIONS)(text)
    for recipe in recipes:
        if recipe.key not in simplex_schemes():
            raise RegistryError(f"{recipe.title} is no partition of the simplex")
    return recipes


def written_corners(three: tuple[int, int, int], others: str) -> str:
    """Format the three classes of the corners, and the treatment of the others, as one text.

    >>> read_corners(written_corners((0, 4, 2), "pool"))
    ((0, 4, 2), 'pool')
    """
    return ",".join([*map(str, three), others])


def read_corners(text: str) -> tuple[tuple[int, int, int], str]:
    """Parse the text of `written_corners`; ValueError for anything else."""
    *codes, others = text.split(",")
    if len(codes) != 3 or others not in OTHERS or not all(code.isdecimal() and len(code) < 8 for code in codes):
        raise ValueError(text)
    a, b, c = map(int, codes)
    return (a, b, c), others


def _corners(text: str) -> str:
    return written_corners(*read_corners(text)) if text else ""


def _slice(text: str) -> str:
    return str(Slice.read(_short(text))) if text else ""


def _others(text: str) -> tuple[tuple[str, str], ...]:
    files = _listed(text, "others", MOST_OTHERS, "files")
    return tuple(dict.fromkeys((_short(key), _reading(changed)) for key, changed in files))


def _sections(text: str) -> tuple[str, ...]:
    keys = _listed(text, "sections", 20, "keys")
    if not all(isinstance(key, str) for key in keys):
        raise RegistryError("sections must be a list of at most 20 keys")
    return tuple(dict.fromkeys(map(_short, keys)))


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


def _range(text: str) -> tuple[float, float]:
    """Parse a range of confidence; ValueError if the text is not a range."""
    low, high = json.loads(text)
    if not 0 <= float(low) < float(high) <= 1:
        raise ValueError(text)
    return float(low), float(high)


def _short(text: str) -> str:
    return text[:2000]


def _reading(text: str) -> str:
    # Not truncated: half a JSON object is not valid JSON.
    if len(text) > READING_CHARS:
        raise ValueError(text)
    return text


def mixed(texts: Iterable[str]) -> bool:
    """Return True if lines of a table use different binnings; its column ``bins`` is then shown.

    >>> mixed(["one a value (23)", "one a value (7)", ""]), mixed(["15 equal width", "one a value (23)"])
    (False, True)
    """
    return len({text.partition(" (")[0] for text in texts if text}) > 1


def _partition(key: str) -> Recipe:
    return Recipe("BINNINGS", key)


def model_keys() -> tuple[str, ...]:
    """Return the keys of the calibrators that can be ticked; the base model is always shown."""
    return tuple(key for key in CALIBRATORS if key != "identity")


def recommended(kind: str, *, event: bool = False) -> tuple[str, ...]:
    """Return the keys of the calibrators to try first with predictions of this kind, independent of results.

    For the risk of an event they are updates of the risk: maps of the predicted class do not correct it.
    """
    if event:
        return tuple(key for key in model_keys() if CALIBRATORS[key].flags.profile.first_for_event)
    return tuple(key for key in model_keys() if kind in CALIBRATORS[key].flags.profile.first_for)


_SOURCE = frozenset(field.name for field in dataclasses.fields(Source))
_READERS: dict[str, Callable[[str], Any]] = {
    "data": _short,
    "reading": _reading,
    "test": _short,
    "test_reading": _reading,
    "by": _one_of("auto", "column", "share", "folds"),
    "share": _within(0.05, 0.95, float),
    "folds": _within(2, MOST_FOLDS, int),
    "seed": _within(0, 2**31 - 1, int),
    "within": _slice,
    "others": _others,
    "view": view_key,
    "calibrators": _recipes("calibrators", "CALIBRATORS", MOST_CALIBRATORS),
    "binning": lambda text: _one_of(AUTO, *interval_schemes())(text),
    "bins": _within(FEWEST, MOST, int),
    "points": _within(2, MOST_POINTS, int),
    "counting": _one_of("answered", "all"),
    "bin": lambda text: _within(0, 10_000, int)(text) if text else None,
    "between": lambda text: _range(text) if text else None,
    "model": _short,
    "notion": lambda text: REDUCTIONS[text].key,
    "about": _short,
    "eps": _within(0.0001, 0.5, float),
    "ratio": _within(*RATIOS, float),
    "confidence": lambda text: _within(0, 1, float)(text) if text else None,
    "risk": lambda text: _within(0, 1, float)(text) if text else None,
    "present": lambda text: _one_of("True", "False")(text) == "True",
    "code": lambda text: _within(0, 1_000_000, int)(text) if text else None,
    "label": lambda text: _within(0, 1_000_000, int)(text) if text else None,
    "three": _corners,
    "partitions": _partitions,
    "part": _within(0, MOST_PARTITIONS, int),
    "cell": lambda text: _within(0, 2**63 - 1, int)(text) if text else None,
    "title": _short,
    "author": _short,
    "left_out": lambda text: _sections(text),
    "added": lambda text: _sections(text),
    "style": _one_of(*STYLES),
    "column": _one_of(*COLUMNS),
    "question": _short,
    "tour": _within(0, STOPS, int),
    "exhibits": lambda text: _recipes("exhibits", "EXHIBITS", 60)(text),
}
