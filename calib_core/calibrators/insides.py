"""What people see of a calibrator: its profile before it is fitted, and what a fitted one consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from calib_core._base.arrays import Float64s, Floats


@dataclass(frozen=True)
class Number:
    """One fitted number: its name in words, its value, of what it is (a class, a group), and where it applies."""

    name: str
    value: float
    of: str = ""
    place: str = ""


@dataclass(frozen=True, eq=False)
class NumberGrid:
    """Fitted numbers with rows and columns, (rows, columns): what they are, what both stand for, and the cell chosen.

    ``middle`` is the value that changes nothing, from which colours go both ways; None for values that only grow.
    """

    title: str
    values: Float64s
    row_title: str
    rows: tuple[str, ...]
    column_title: str
    columns: tuple[str, ...]
    middle: float | None = None
    chosen: tuple[int, int] | None = None


def _none() -> Iterable[Number]:
    return ()


@dataclass(frozen=True, eq=False)
class Insides:
    """A fit in few words ("T = 1.69", "20 numbers"), in a sentence, number by number, and its tables as pictures.

    ``unit`` is what several of its kind are called ("table", "staircase"): a calibrator that fits one a class counts
    them. ``temperature``: the one number that divides all log-probabilities, where it is the whole fit. ``numbers``
    makes the list when it is wanted: there can be hundreds of thousands.
    """

    short: str = ""
    sentence: str = ""
    numbers: Callable[[], Iterable[Number]] = field(default=_none, repr=False)
    grids: tuple[NumberGrid, ...] = ()
    unit: str = "map"
    temperature: float | None = None


def class_names(names: Sequence[str], classes: int) -> tuple[str, ...]:
    """The names of the classes, or their numbers where they have none.

    >>> class_names((), 2), class_names(("cat", "dog"), 2)
    (('0', '1'), ('cat', 'dog'))
    """
    return tuple(map(str, names)) if len(names) == classes else tuple(map(str, range(classes)))


def counted(number: int, thing: str) -> str:
    """So many of them.

    >>> counted(1, "table"), counted(10, "table")
    ('1 table', '10 tables')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def interval_places(edges: Floats) -> list[str]:
    """The bins between inner edges of [0, 1], in words.

    >>> import numpy as np
    >>> interval_places(np.array([0.25]))
    ['scores below 0.25', 'scores from 0.25']
    """
    inner = [f"{edge:.6g}" for edge in edges]
    if not inner:
        return ["all scores"]
    between = [f"scores from {low} to {high}" for low, high in pairwise(inner)]
    return [f"scores below {inner[0]}", *between, f"scores from {inner[-1]}"]


def shares_table(edges: Floats, shares: Float64s, rows: Float64s) -> Insides:
    """The insides of a map that gives a score the share of claims that came true in its bin."""
    places = interval_places(edges)
    return Insides(
        counted(len(shares), "bin"),
        "A score becomes the share of claims that came true in its bin.",
        lambda: [
            number
            for place, share, many in zip(places, shares, rows, strict=True)
            for number in (
                Number("share that came true", float(share), place=place),
                Number("calibration rows", float(many), place=place),
            )
        ],
        unit="table",
    )


Family = Literal["scaling", "binning", "rows", "abstaining", "advanced"]

FAMILY_TITLES: dict[str, tuple[str, str]] = {
    "scaling": ("Scaling", "a few numbers; needs the fewest rows"),
    "binning": ("Binning", "frequencies of similar rows; can carry a guarantee"),
    "rows": ("Whole rows", "compares rows as a whole; needs many of them"),
    "abstaining": ("Abstaining", "answers fewer rows, and those better"),
    "advanced": ("Advanced", "wrappers to fill yourself, and chains"),
}
"""Families in the order they are shown: the title of each, and what its members have in common."""


@dataclass(frozen=True)
class Profile:
    """How a calibrator is introduced, declared beside it.

    family: with which others it stands. sentence: what it does, in plain words. rows = (a, b, c): it needs about
    a + b K + c K^2 calibration rows of K classes, fifty for every number it fits or bin it fills. needs_classes: the
    predicted classes must be known. promises: some fits carry a guarantee that holds whatever the data. first_for:
    the kinds of predictions for which it is among the first to try, and ``why_first`` the reason in one sentence.
    first_for_event: whether it is among the first to try with the risk of an event.
    candidate_for: the kinds for which it is tried where a calibrator is chosen by cross-validation; of ``most_classes``
    at most.

    >>> Profile(rows=(0, 100, 0)).rows_needed(10)
    1000
    """

    family: Family = "advanced"
    sentence: str = ""
    rows: tuple[int, int, int] = (0, 0, 0)
    needs_classes: bool = False
    promises: bool = False
    first_for: tuple[str, ...] = ()
    why_first: str = ""
    candidate_for: tuple[str, ...] = ()
    most_classes: int | None = None
    first_for_event: bool = False

    def rows_needed(self, classes: int) -> int:
        """About so many calibration rows of this many classes; 0 where nothing is declared."""
        a, b, c = self.rows
        return a + b * classes + c * classes * classes
