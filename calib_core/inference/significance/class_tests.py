"""A test of calibration for every class, with exact p-values, corrected for their number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals
from calib_core.binning.bin_table import padded, tabulate_at
from calib_core.binning.declared import bins_of
from calib_core.claims.binary_claims import Claims
from calib_core.claims.tallies import Tally
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.noise.poisson_binomial import poisson_binomial
from calib_core.inference.significance.count_tests import SMALLEST
from calib_core.inference.significance.selected_shares import (
    FEWEST,
    corrected_p,
    counts_rows,
    kinds_of_places,
    p_of_cells,
    worth_of_cells,
)
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, claims_of

_PARTS = 16
"""Into how many slices a bin is cut, the scores of each slice standing for their mean."""
_GRID = 4096


def per_class_tests(
    predictions: Predictions,
    notion: str | Reduction = "class-wise",
    bins: int | str | BinningScheme | None = None,
    progress: Callable[[int], object] | None = None,
    families: int = 1,
    fewest: int = 1,
) -> pd.DataFrame:
    """One line a class: its calibration error, what calibrated probabilities show on average, and a test.

    ``bins`` as for ``estimate``; ``progress`` is told how much is done, in percent, and what it raises stops the work.

    Columns: class, rows (claims about it), error (the class's ECE), calibrated (mean error of calibrated models),
    beyond = (error - calibrated) * rows / n, what the class adds to the error of all n rows beyond what noise alone
    adds (below 0: less than noise), p, and p_holm corrected for the number of classes; NaN for a class without claims.
    Where the classes are one of several ``families`` of places, p_holm is times as many, and a class of fewer than
    ``fewest`` rows is not tested (``picked_out``).
    The statistic is n times the ECE, T = sum_b |k_b - S_b|, with k_b claims of bin b that came true and S_b the sum of
    its scores. Under calibration k_b is Poisson-binomial and the bins are independent: their laws are computed by
    Fourier transform and convolved, so that p = P(T* >= T) needs no random draws and can be small enough to survive
    many classes (a thousand draws could not show anything at 50). A score counts as the mean of its slice, a sixteenth
    of a bin: this widens the laws by under a percent, so the test errs on the careful side. Distances are rounded to a
    grid, in the data as in the laws: the test is of the rounded T, whose steps are small beside its spread.

    What can mislead: classes share rows, so errors of several classes can be one error; a class of few rows passes
    whatever the model does. NotAnswerable for row weights that are not whole numbers, and for rows that
    belong together.

    References: Hosmer & Lemeshow 1980 for the idea of a test by bins; Hong 2013 for the Fourier form; Holm 1979.

    >>> p = Predictions([[0.5, 0.5]] * 4, [0, 0, 0, 0])
    >>> found = per_class_tests(p, "class-wise", 1)[["error", "p", "p_holm"]]
    >>> found.round(9).values.tolist()  # 2 of the 16 outcomes of four even claims are as far off, in both classes
    [[0.5, 0.125, 0.25], [0.5, 0.125, 0.25]]
    """
    refuse_groups(predictions, "a test by class")
    rows = predictions.written_out()
    if rows.weights is not None:
        raise NotAnswerable(
            "per-class tests count rows, and these carry weights that are not whole numbers; leave the weights out"
        )
    claims = claims_of(rows, notion)
    slices = _slices(claims, as_intervals(bins_of(predictions, bins)))
    found = []
    for s in range(len(claims.strata)):
        found.append(_tested(*(part[s].reshape(-1, _PARTS) for part in (slices.count, slices.score, slices.outcome))))
        if progress is not None:
            progress(100 * (s + 1) // len(claims.strata))
    frame = pd.DataFrame(found, columns=["rows", "error", "calibrated", "p"])
    frame.insert(0, "class", pd.Series(claims.strata, dtype=object))
    frame.insert(4, "beyond", (frame["error"] - frame["calibrated"]) * frame["rows"] / rows.n_rows)
    rows_each = frame["rows"].astype(int)
    p, corrected = corrected_p(frame["p"].to_numpy(), rows_each.to_numpy() >= fewest, families)
    return frame.assign(rows=rows_each, p=p, p_holm=corrected)


def standing_out(tests: pd.DataFrame) -> tuple[int, ...]:
    """Codes of the classes that stand out of the noise: p_holm of ``per_class_tests`` at most 0.05.

    What they add to the error beyond noise decides their order, the largest first. Calling them miscalibrated is wrong
    about any of them with a chance of at most 5 %, however many classes there are. What can mislead: a class that does
    not stand out is not shown to be calibrated; one of few rows hardly can stand out.

    >>> p = Predictions([[0.5, 0.5]] * 40 + [[0.75, 0.25]] * 40, [0] * 40 + [0, 0, 0, 1] * 10)
    >>> standing_out(per_class_tests(p, "top-label", 2))  # 40 rows of class 0 at 50 %, all of them right
    (0,)
    """
    codes = np.flatnonzero(tests["p_holm"].to_numpy(dtype=np.float64) <= SIGNIFICANCE)
    beyond = tests["beyond"].to_numpy(dtype=np.float64)[codes]
    return tuple(codes[np.argsort(-beyond, kind="stable")].tolist())


def predicted_classes(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    fewest: int = FEWEST,
) -> pd.DataFrame:
    """A line per class: the test of the rows predicted as it, corrected as every view gives it (``picked_out``).

    The columns of ``per_class_tests`` in the top-label notion; of rows in groups, and of weights that are no counts,
    only class, rows, p and p_holm, by Hoeffding's bound on the mean gap of the class.

    >>> p = Predictions.from_confidence([0.9] * 40, predicted=[0] * 40, labels=[0] * 20 + [1] * 20)
    >>> predicted_classes(p, 5)["p_holm"].round(3).tolist()  # class 1 is never predicted
    [0.0, nan]
    """
    families = kinds_of_places(predictions)
    if counts_rows(predictions):
        return per_class_tests(predictions, "top-label", bins, families=families, fewest=fewest)
    rows = predictions.answered
    k, code = len(rows.class_names or ()), rows.predicted.astype(np.intp)
    enough = worth_of_cells(rows, code, k) >= fewest
    p, corrected = corrected_p(p_of_cells(rows, code, k), enough, families)
    number = np.bincount(code, minlength=k)
    names = pd.Series(rows.class_names or (), dtype=object)
    return pd.DataFrame({"class": names, "rows": number, "p": p, "p_holm": corrected})


def _slices(claims: Claims, scheme: IntervalScheme) -> Tally:
    """Sums over the bins' slices, (strata, bins * slices)."""
    shared = scheme.fixed_edges()
    if shared is not None:
        return tabulate_at(claims, _cut(shared)).tally
    lines = []
    for s in range(len(claims.strata)):
        ordered = claims.stratum(s).in_order()
        edges = _cut(scheme.edges(ordered.scores, ordered.weights).astype(np.float64)).astype(claims.dtype)
        lines.append((edges, ordered.sums(edges)))
    return padded(claims, lines).tally


def _cut(inner: Float64s) -> Float64s:
    """Inner edges of the slices of the bins between these inner edges."""
    edges = np.concatenate([[0.0], inner, [1.0]])
    steps = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(_PARTS) / _PARTS)
    return np.asarray(steps.ravel()[1:])


def _tested(count: Float64s, score: Float64s, outcome: Float64s) -> tuple[float, float, float, float]:
    """Rows, error, mean error under calibration and p-value of one class from its slices, each (bins, slices)."""
    present = count.sum(axis=1) > 0
    rows = float(count.sum())
    if rows == 0:
        return 0.0, np.nan, np.nan, np.nan
    laws = [
        poisson_binomial(c[c > 0], s[c > 0] / c[c > 0]) for c, s in zip(count[present], score[present], strict=True)
    ]
    expected, observed = score[present].sum(axis=1), outcome[present].sum(axis=1)
    reach = sum(max(abs(low - m), abs(low + len(law) - m)) + 1 for (low, law), m in zip(laws, expected, strict=True))
    step = reach / _GRID
    transform, mean = np.ones(_GRID + 1, dtype=np.complex128), 0.0
    for (low, law), middle in zip(laws, expected, strict=True):
        away = np.abs(np.arange(low, low + len(law)) - middle)
        on_grid = np.bincount(_on_grid(away, step), law, minlength=2 * _GRID)
        transform *= np.fft.rfft(on_grid)
        mean += float(away @ law)
    null = np.maximum(np.fft.irfft(transform, 2 * _GRID), 0.0)
    # The observed distances are rounded as the others are: it is the rounded statistic that is tested.
    position = int(_on_grid(np.abs(observed - expected), step).sum())
    p = float(np.clip(null[position:].sum(), SMALLEST, 1.0)) if position < len(null) else SMALLEST
    return rows, float(np.abs(observed - expected).sum()) / rows, mean / rows, p


def _on_grid(away: Float64s, step: float) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    # A hair is added so that distances equal but for rounding (2.5 from both sides) meet in one place.
    return np.floor(away / step + 0.5 + 1e-9).astype(np.intp)
