"""Descriptions of calibrators for users: profiles before a fit, and the contents of a fitted one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from calib_core._base.arrays import Float64s, Floats
from calib_core.text import several


@dataclass(frozen=True)
class Number:
    """One fitted number: its name, its value, its class or group, and where it applies."""

    name: str
    value: float
    of: str = ""
    place: str = ""


@dataclass(frozen=True, eq=False)
class NumberGrid:
    """Matrix of fitted numbers (rows, columns), with titles and names of both axes, and the chosen cell.

    ``middle`` is the value that changes nothing, the center of a diverging color scale; None for a sequential scale.
    """

    title: str
    values: Float64s
    row_title: str
    rows: tuple[str, ...]
    column_title: str
    columns: tuple[str, ...]
    middle: float | None = None
    chosen: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class MemberCurves:
    """Maps of the probability of one of two classes that a fit averages, at ``scores`` (m,).

    ``outputs`` (M, m) are those of the members, by ``titles``, and ``average`` (m,) is their mean by ``weights`` (M,).
    ``of`` is the class.
    """

    scores: Float64s
    outputs: Float64s
    average: Float64s
    titles: tuple[str, ...]
    weights: Float64s
    of: str


def _none() -> Iterable[Number]:
    return ()


@dataclass(frozen=True, eq=False)
class Insides:
    """Description of a fit: a few words ("T = 1.69", "20 numbers"), a sentence, all numbers, and matrices.

    ``unit`` is the noun for one such fit ("table", "staircase"), for calibrators with one fit per class.
    ``temperature``: the one number that divides all log-probabilities, if it is the whole fit. ``numbers`` builds the
    list on request, as there can be hundreds of thousands. ``curves`` are those of members that are averaged.
    """

    short: str = ""
    sentence: str = ""
    numbers: Callable[[], Iterable[Number]] = field(default=_none, repr=False)
    grids: tuple[NumberGrid, ...] = ()
    unit: str = "map"
    temperature: float | None = None
    curves: MemberCurves | None = None


PLACES = np.linspace(0.0, 1.0, 21)
"""Scores whose values are listed for maps with many or no numbers of their own."""


def score_numbers(scores: Floats, values: Floats) -> list[Number]:
    """Numbers of a map of scores: the recalibrated score at each score.

    >>> score_numbers(np.array([0.25]), np.array([0.5]))
    [Number(name='recalibrated score', value=0.5, of='', place='score 0.25')]
    """
    return [
        Number("recalibrated score", float(value), place=f"score {score:.6g}")
        for score, value in zip(scores, values, strict=True)
    ]


def class_names(names: Sequence[str], classes: int) -> tuple[str, ...]:
    """Names of the classes, or their numbers if they have none.

    >>> class_names((), 2), class_names(("cat", "dog"), 2)
    (('0', '1'), ('cat', 'dog'))
    """
    return tuple(map(str, names)) if len(names) == classes else tuple(map(str, range(classes)))


def interval_places(edges: Floats) -> list[str]:
    """Bins between inner edges of [0, 1], in words.

    >>> interval_places(np.array([0.25]))
    ['scores below 0.25', 'scores from 0.25']
    """
    inner = [f"{edge:.6g}" for edge in edges]
    if not inner:
        return ["all scores"]
    between = [f"scores from {low} to {high}" for low, high in pairwise(inner)]
    return [f"scores below {inner[0]}", *between, f"scores from {inner[-1]}"]


def shares_table(edges: Floats, shares: Float64s, rows: Float64s) -> Insides:
    """Description of a map from a score to the observed frequency in its bin."""
    places = interval_places(edges)
    return Insides(
        several(len(shares), "bins"),
        "Replaces a score by the observed frequency in its bin.",
        lambda: [
            number
            for place, share, many in zip(places, shares, rows, strict=True)
            for number in (
                Number("observed frequency", float(share), place=place),
                Number("calibration rows", float(many), place=place),
            )
        ],
        unit="table",
    )


Family = Literal["scaling", "binning", "rows", "abstaining", "advanced"]

FAMILY_TITLES: dict[str, tuple[str, str]] = {
    "scaling": ("Scaling", "fits a few numbers; the fewer numbers, the fewer rows it needs"),
    "binning": ("Binning", "uses frequencies of similar rows; can have a guarantee"),
    "rows": ("Whole rows", "uses all probabilities of a row together; needs many rows"),
    "abstaining": ("Abstaining", "answers fewer rows, more accurately"),
    "advanced": ("Advanced", "apply a calibrator for two classes to each class, or several calibrators in a row"),
}
"""Families in display order: title, and what its members have in common."""


@dataclass(frozen=True)
class Profile:
    """Introduction of a calibrator, declared with it.

    - family: the group in which it is listed.
    - sentence: a plain description.
    - rows = (a, b, c): it needs about a + b K + c K^2 calibration rows for K classes, fifty per fitted number or bin.
    - needs_classes: the predicted classes must be known.
    - promises: some fits have a distribution-free guarantee.
    - first_for: the kinds of predictions for which it is among the first to try, with the reason ``why_first`` in one
      sentence.
    - first_for_event: it is among the first to try for the risk of an event.
    - candidate_for: the kinds for which it is a candidate when a calibrator is chosen by cross-validation, from
      ``fewest_classes`` up to ``most_classes`` classes.

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
    fewest_classes: int = 2
    first_for_event: bool = False

    def is_candidate(self, kind: str, classes: int | None) -> bool:
        """Return True if it is a candidate for predictions of this kind with this number of classes.

        >>> Profile(candidate_for=("full",), fewest_classes=3).is_candidate("full", 2)
        False
        """
        k = classes or self.fewest_classes
        return kind in self.candidate_for and self.fewest_classes <= k <= (self.most_classes or k)

    def rows_needed(self, classes: int) -> int:
        """Approximate number of calibration rows needed for this number of classes; 0 if not declared."""
        a, b, c = self.rows
        return a + b * classes + c * classes * classes
