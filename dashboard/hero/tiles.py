"""Tiles of the first visit with precomputed numbers of each demo, so that no demo is read before it is chosen.

A test recomputes the numbers from the files and compares.
"""

from __future__ import annotations

from dataclasses import dataclass

import calib_core as cc
from calib_core import Predictions
from dashboard.hero.sparks import Point, points_of

BINS = 10


@dataclass(frozen=True)
class Tile:
    """Tile with mean confidence, accuracy, and the points of a tiny diagram: bins, or classes if only these are off."""

    claimed: float
    right: float
    points: tuple[Point, ...]


def tile_of(rows: Predictions) -> Tile:
    """Return the tile of a demo, to three digits.

    >>> tile_of(Predictions.from_confidence([0.8] * 4, [True, True, True, False]))
    Tile(claimed=0.8, right=0.75, points=((0.8, 0.75, 1.0),))
    """
    gap = cc.diagrams.overall_gap(rows, notion="confidence")
    points = points_of(cc.diagrams.reliability(rows, bins=BINS, notion="confidence"))
    if not gap.direction and rows.kind == "full":
        classes = cc.diagrams.classes_standing_out(rows)
        if classes.stands_out.any():
            shares = classes.rows / classes.rows.sum()
            points = tuple(zip(classes.claimed, classes.right, shares, strict=True))
    digits = tuple((round(float(a), 3), round(float(b), 3), round(float(c), 3)) for a, b, c in points)
    return Tile(round(gap.claimed, 3), round(gap.right, 3), digits)


TILES: dict[str, Tile] = {
    "digits-naive-bayes": Tile(
        claimed=0.988,
        right=0.851,
        points=(
            (0.544, 0.417, 0.007),
            (0.661, 0.4, 0.008),
            (0.757, 0.5, 0.008),
            (0.857, 0.567, 0.017),
            (0.998, 0.866, 0.96),
        ),
    ),
    "digits-random-forest": Tile(
        claimed=0.772,
        right=0.973,
        points=(
            (0.263, 0.391, 0.013),
            (0.347, 0.635, 0.035),
            (0.445, 0.93, 0.056),
            (0.545, 0.986, 0.08),
            (0.646, 1.0, 0.098),
            (0.746, 1.0, 0.168),
            (0.849, 1.0, 0.219),
            (0.95, 1.0, 0.33),
        ),
    ),
    "digits-mlp": Tile(
        claimed=0.976,
        right=0.979,
        points=(
            (0.457, 0.444, 0.005),
            (0.56, 0.5, 0.007),
            (0.64, 0.778, 0.015),
            (0.744, 0.8, 0.014),
            (0.855, 0.896, 0.027),
            (0.995, 0.995, 0.932),
        ),
    ),
    "breast-cancer-svm": Tile(
        claimed=0.799,
        right=0.977,
        points=(
            (0.552, 0.786, 0.074),
            (0.66, 0.965, 0.1),
            (0.754, 0.992, 0.216),
            (0.854, 0.996, 0.478),
            (0.916, 1.0, 0.132),
        ),
    ),
    "wine-logistic": Tile(
        claimed=0.955,
        right=0.983,
        points=(
            (0.58, 0.333, 0.017),
            (0.646, 0.833, 0.034),
            (0.761, 1.0, 0.022),
            (0.851, 1.0, 0.051),
            (0.985, 1.0, 0.876),
        ),
    ),
    "example-1": Tile(claimed=0.6, right=0.6, points=((0.6, 0.2, 0.5), (0.6, 1.0, 0.5))),
    "synthetic-three-class": Tile(
        claimed=0.7,
        right=0.675,
        points=(
            (0.376, 0.523, 0.014),
            (0.46, 0.47, 0.107),
            (0.548, 0.53, 0.2),
            (0.651, 0.595, 0.19),
            (0.75, 0.709, 0.175),
            (0.847, 0.81, 0.16),
            (0.948, 0.936, 0.154),
        ),
    ),
    "imbalanced-forest": Tile(
        claimed=0.848,
        right=0.95,
        points=(
            (0.352, 0.451, 0.018),
            (0.45, 0.613, 0.035),
            (0.547, 0.774, 0.053),
            (0.646, 0.905, 0.068),
            (0.749, 0.954, 0.099),
            (0.85, 0.991, 0.176),
            (0.964, 0.999, 0.548),
        ),
    ),
    "language-model": Tile(
        claimed=0.816,
        right=0.594,
        points=(
            (0.2, 0.179, 0.014),
            (0.4, 0.289, 0.022),
            (0.5, 0.275, 0.045),
            (0.6, 0.407, 0.061),
            (0.722, 0.471, 0.139),
            (0.822, 0.577, 0.253),
            (0.939, 0.723, 0.465),
        ),
    ),
    "patients": Tile(
        claimed=0.682,
        right=0.656,
        points=(
            (0.378, 0.327, 0.027),
            (0.46, 0.456, 0.129),
            (0.549, 0.558, 0.2),
            (0.651, 0.663, 0.179),
            (0.749, 0.715, 0.185),
            (0.851, 0.75, 0.174),
            (0.938, 0.898, 0.106),
        ),
    ),
    "hospital-risk": Tile(
        claimed=0.853,
        right=0.86,
        points=(
            (0.551, 0.539, 0.044),
            (0.653, 0.698, 0.072),
            (0.756, 0.765, 0.144),
            (0.857, 0.864, 0.297),
            (0.946, 0.947, 0.442),
        ),
    ),
    "card-fraud": Tile(
        claimed=0.983,
        right=0.994,
        points=((0.865, 0.953, 0.02), (0.986, 0.995, 0.976)),
    ),
}
"""Tiles by the key of the demo."""
