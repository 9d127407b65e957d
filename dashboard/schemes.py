"""Binning schemes that the page offers, and their numeric parameters."""

from calib_core import BINNINGS, Recipe
from calib_core.binning import of_interval, of_simplex
from calib_core.registry.registry import Part, Range

AUTO = "auto"
"""Automatic binning: one bin per value for calibrators with discrete outputs, otherwise the default bins."""
NUMBERS = ("bins", "points")
"""Parameters that a scheme may have."""


def interval_schemes() -> tuple[str, ...]:
    """Return the keys of the schemes for single scores that need only a number."""
    intervals = Part("BINNINGS", of_interval).keys
    return tuple(key for key in intervals if all(p.name in NUMBERS for p in BINNINGS[key].params))


def counted_by(number: str) -> str:
    """Return the key of the first scheme with this parameter: "bins" or "points".

    >>> counted_by("bins"), counted_by("points")
    ('equal-width', 'points-per-bin')
    """
    return next(key for key in interval_schemes() if any(p.name == number for p in BINNINGS[key].params))


def scheme_of(binning: str, **numbers: int) -> Recipe:
    """Return the recipe of a binning with the parameters that it takes, clipped to its limits.

    >>> scheme_of("equal-mass", bins=7, points=20).params, scheme_of("distinct", bins=7).params
    ((('bins', 7),), ())
    """
    ranges = {p.name: p.domain for p in BINNINGS[binning].params if isinstance(p.domain, Range)}
    return BINNINGS.described(binning, **{key: ranges[key].nearest(n) for key, n in numbers.items() if key in ranges})


def simplex_schemes() -> tuple[str, ...]:
    """Return the keys of the schemes that partition the simplex."""
    return Part("BINNINGS", of_simplex).keys
