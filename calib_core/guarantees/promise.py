"""Guarantees of one fitted calibrator, in sentences for the screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.notebook_display import OneLine
from calib_core.guarantees.bounds import cell_eps, marginal_eps, simultaneous_eps
from calib_core.text import points_of


@dataclass(frozen=True, repr=False)
class Bound(OneLine):
    """One guarantee: its kind, its value (eps, or a rate), its level (None: on average), and its sentence."""

    kind: str
    eps: float
    level: float | None
    sentence: str


@dataclass(frozen=True, repr=False)
class Promise(OneLine):
    """Guarantees of a fitted calibrator: its bounds, the names left out, and a summary sentence.

    Without bounds there is no guarantee, and ``sentence`` gives the reason.
    """

    bounds: tuple[Bound, ...]
    sentence: str
    left_out: tuple[str, ...] = ()

    def _line(self) -> str:
        return self.sentence

    @property
    def holds(self) -> bool:
        return bool(self.bounds)

    def __getitem__(self, kind: str) -> Bound:
        """Return the bound of this kind."""
        return next(bound for bound in self.bounds if bound.kind == kind)


@dataclass(frozen=True)
class UniformMassCells:
    """Equal-mass bins of one stratum for their bound: rows n, bins B, and fewest rows averaged in a bin.

    The theorem's k is ``points`` = fewest + 1: its proof averages k - 1 rows, those strictly between two thresholds.
    ``broken`` is the reason why the theorem does not apply (weights; scores tied with a threshold).
    ``placing`` are rows in addition to n that only set the edges, if scores tie.
    """

    rows: int
    bins: int
    fewest: int
    delta: float
    broken: str = ""
    placing: int = 0

    @property
    def points(self) -> int:
        return self.fewest + 1


NONE = Promise(
    (),
    "This method has no guarantee for new rows: check its error on held-out rows.",
)


def no_promise(why: str) -> Promise:
    """Return the absence of a guarantee, with its reason."""
    return Promise((), f"There is no distribution-free guarantee: {why}.")


def binning_promise(
    cells: Sequence[UniformMassCells], alpha: float, notion: str, left_out: Sequence[str] = (), class_wise: bool = False
) -> Promise:
    """Guarantee of histogram binning in these strata: Theorem 1 (``class_wise``: Theorem 2, alpha shared equally).

    Top-label and confidence strata are disjoint, so a marginal bound does not divide alpha among them. The classes of
    class-wise binning share all rows, so each gets alpha / L. ``left_out`` names strata that were pooled or not
    calibrated. There is no guarantee for them, or for an average that includes them.

    References: P1 Theorem 1 and 2 with the constants of their proofs (Appendix H.2, H.4). The actual number of bins and
    the actual smallest number of points per bin replace n / k and k.

    >>> print(binning_promise([UniformMassCells(500, 10, 49, 0.0)], 0.1, "confidence")["marginal"].sentence)
    With probability at least 90 %, a new row's confidence is within 17.5 points of the true frequency in its bin.
    """
    broken = next((c.broken for c in cells if c.broken), "")
    if broken:
        return no_promise(broken)
    if not cells or min(c.points for c in cells) < 2:
        return no_promise("no group has two rows per bin" if cells else "no class has enough rows for its own bins")
    delta = max(c.delta for c in cells)
    parts = len(cells) if class_wise else 1
    total = sum(c.bins for c in cells)
    each = max(simultaneous_eps(c.points, c.bins if class_wise else total, alpha / parts, delta) for c in cells)
    marginal = max(marginal_eps(c.points, alpha / parts, delta) for c in cells)
    # P1's proof bounds each stratum by sqrt(B / (2 n)), which is at most sqrt(1 / (2 k)), for equally filled bins.
    # In any bin, the mean of m outcomes has an expected error of at most 1 / (2 sqrt(m)).
    mean = max(max(np.sqrt(c.bins / (2.0 * c.rows)), 0.5 / np.sqrt(c.fewest)) for c in cells) + delta
    tied = any(c.placing for c in cells)
    bounds = _sentences(marginal, each, float(mean), 1.0 - alpha, notion, class_wise, bool(left_out), tied)
    return Promise(bounds, _summary(each, 1.0 - alpha, notion, left_out) + _rows_used(cells), tuple(left_out))


_TOO_FEW = "the bins have too few rows"


def _sentences(
    marginal: float, each: float, mean: float, level: float, notion: str, class_wise: bool, partial: bool, tied: bool
) -> tuple[Bound, ...]:
    whose = "the covered classes" if partial else "all classes" if notion != "confidence" else "all rows"
    sets = "with bins filled like these" if tied else "of this size"
    sure = f"With probability at least {level * 100:.4g} %"
    new_row = "a new row's probability of any covered class" if class_wise else "a new row's confidence"
    new_row += ", if its class is covered," if partial and not class_wise else ""
    return (
        Bound(
            "marginal",
            marginal,
            level,
            f"There is no guarantee for {new_row.rstrip(',')}: {_TOO_FEW}."
            if says_nothing(marginal)
            else f"{sure}, {new_row} is within {points_up(marginal)} of the true frequency in its bin.",
        ),
        Bound(
            "conditional",
            each,
            level,
            f"There is no guarantee for all outputs at once: {_TOO_FEW}."
            if says_nothing(each)
            else f"{sure} over the calibration rows, every output is within {points_up(each)} of the true frequency. "
            f"The same limit applies to the {notion} calibration error (ECE and MCE) of {whose}.",
        ),
        Bound(
            "expected",
            mean,
            None,
            f"The mean {notion} ECE of {whose} over calibration sets {sets} is at most {rounded_up(mean)}.",
        ),
    )


def rounded_up(bound: float) -> str:
    """Format a bound in percent, rounded up so that it stays valid.

    >>> rounded_up(0.1001), points_up(0.1)
    ('10.1 %', '10 points')
    """
    return f"{math.ceil(1000 * bound - 1e-6) / 10:g} %"


def points_up(bound: float) -> str:
    """Format a bound in percentage points, rounded up."""
    return points_of(rounded_up(bound))


def says_nothing(bound: float) -> bool:
    """Return True if a bound on a difference of shares has no content, as it would be printed as 100 points.

    >>> says_nothing(0.999), says_nothing(0.9999)
    (False, True)
    """
    return math.ceil(1000 * bound - 1e-6) >= 1000


def _summary(each: float, level: float, notion: str, left_out: Sequence[str]) -> str:
    if says_nothing(each):
        return f"There is no guarantee for the {notion} ECE on new rows: {_TOO_FEW}."
    sure = f"With probability at least {level * 100:.4g} % over the calibration rows, the {notion} ECE"
    if not left_out:
        return f"{sure} on new rows of the same kind is at most {rounded_up(each)}."
    some = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    many = f"{len(left_out)} class{'es' if len(left_out) > 1 else ''}"
    return (
        f"{sure} of the classes with enough rows is at most {rounded_up(each)} on new rows of the same kind. There is "
        f"no guarantee for {many} with too few rows ({some})."
    )


def _rows_used(cells: Sequence[UniformMassCells]) -> str:
    """Sentence on the rows left for the guarantee if some rows only set edges."""
    if not any(c.placing for c in cells):
        return ""
    return (
        " Scores tie at the bins' edges, so some calibration rows only set the edges. The guarantee uses the others, "
        f"at least {min(c.fewest for c in cells)} in every bin."
    )


def simplex_promise(rows: ArrayLike, classes: int, alpha: float, names: Sequence[str]) -> Promise:
    """Guarantee of class frequencies in named cells with ``rows`` (B,) labels, for whole vectors.

    "marginal": the L1 distance of one new row's vector, in any cell, with alpha for each cell. "conditional": of all
    cells jointly, alpha / B each. Cells with a simultaneous bound of 2 or more are left out by name.

    References: P1 Appendix G; `weissman_eps`.

    >>> simplex_promise([500, 400, 2], 3, 0.1, ["a", "b", "c"]).left_out
    ('c',)
    """
    n = np.asarray(rows)
    each = np.array([cell_eps(int(r), classes, alpha, len(n)) if r > 0 else 2.0 for r in n])
    covered = each < 2.0
    left_out = tuple(name for name, kept in zip(names, covered, strict=True) if not kept)
    if not covered.any():
        return no_promise(f"no cell has enough calibration rows to bound the frequencies of {classes} classes")
    fewest = int(n[covered].min())
    every, single = float(each[covered].max()), cell_eps(fewest, classes, alpha)
    sure = f"With probability at least {(1.0 - alpha) * 100:.4g} %"
    whose = "cells with enough calibration rows" if left_out else "all cells with calibration rows"
    claim = (
        f"{sure} over the calibration rows, the outputs in {whose} are within {every:.3f} (sum of absolute "
        "differences) of the true frequencies"
    )
    some = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    rest = f". There is no guarantee for {len(left_out)} with too few ({some})" if left_out else ""
    new_row = f"{sure}, a new row's output in these cells is within {single:.3f} of the true frequencies."
    together = f"{claim}. The same limit applies to the canonical error (ECE and MCE) there."
    bounds = (Bound("marginal", single, 1.0 - alpha, new_row), Bound("conditional", every, 1.0 - alpha, together))
    return Promise(bounds, f"{claim}{rest}.", left_out)


def miscoverage_promise(held_out: int, exceed: float, alpha: float) -> Promise:
    """Guarantee of Meta-Cal's threshold for the share of correct rows withheld.

    >>> miscoverage_promise(200, 0.026, 0.05)["miscoverage"].level
    0.974
    """
    sentence = (
        f"With probability {(1 - exceed) * 100:.3g} % over the {held_out} held-out rows, at most {alpha * 100:.4g} % "
        "of the correct predictions are withheld."
    )
    return Promise((Bound("miscoverage", alpha, 1.0 - exceed, sentence),), sentence)


def coverage_accuracy_promise(accuracy: float, risk: float) -> Promise:
    """Guarantee of fixed-sequence testing for the accuracy of answered rows.

    Calibration rows on which no threshold passes are refused; a refusal does not violate the guarantee.
    If the target accuracy is unattainable, all draws that are *not* refused, at most a share ``risk``, violate it.

    >>> coverage_accuracy_promise(0.97, 0.05).holds
    True
    """
    sentence = (
        f"With probability at least {(1 - risk) * 100:.4g} % over the held-out rows, the fit is refused or at least "
        f"{accuracy * 100:.4g} % of the answered predictions are correct."
    )
    return Promise((Bound("coverage-accuracy", accuracy, 1.0 - risk, sentence),), sentence)
