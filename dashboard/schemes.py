"""Binning schemes that the page offers, and the numbers they take."""

from calib_core import BINNINGS, Recipe
from calib_core.binning import of_interval, of_simplex
from calib_core.registry.registry import Part, Range

AUTO = "auto"
"""In place of a binning: one bin a value where a calibrator's outputs are declared discrete, else the default bins."""
NUMBERS = ("bins", "points")
"""Choices that a scheme may take."""


def interval_schemes() -> tuple[str, ...]:
    """Keys of the schemes for single scores that need no more than a number."""
    intervals = Part("BINNINGS", of_interval).keys
    return tuple(key for key in intervals if all(p.name in NUMBERS for p in BINNINGS[key].params))


def counted_by(number: str) -> str:
    """Key of the first scheme that takes this number: "bins" or "points".

    >>> counted_by("bins"), counted_by("points")
    ('equal-width', 'points-per-bin')
    """
    return next(key for key in interval_schemes() if any(p.name == number for p in BINNINGS[key].params))


def scheme_of(binning: str, **numbers: int) -> Recipe:
    """The recipe of a binning with those of the numbers that it takes, as near as its limits allow.

    >>> scheme_of("equal-mass", bins=7, points=20).params, scheme_of("distinct", bins=7).params
    ((('bins', 7),), ())
    """
    ranges = {p.name: p.domain for p in BINNINGS[binning].params if isinstance(p.domain, Range)}
    return BINNINGS.described(binning, **{key: ranges[key].nearest(n) for key, n in numbers.items() if key in ranges})


def simplex_schemes() -> tuple[str, ...]:
    """Keys of the schemes that cut the simplex into cells."""
    return Part("BINNINGS", of_simplex).keys
