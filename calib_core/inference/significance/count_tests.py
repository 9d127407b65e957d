"""Exact tests of calibration for many places at once: bins, slices and classes, and which are significantly off.

A place is a bin of the diagram, a predicted class, a predicted class in a bin, or a class's probability. A value of a
metadata column is a place too. It is tested once, exactly (``count_test``; ``share_test`` for weights and groups of
rows), if its effective sample size is at least ``FEWEST``. The p-value is corrected in two steps that no view changes:

1. Holm's rule among the places of its family: the bins of this model, its predicted classes, ..., the values of one
   column.
   2. A fixed split: of F kinds of places (``kinds_of_places``) each gets an F-th of the 5 %. Each of C columns gets a
      C-th of the share of the slices. So p_corrected = F * Holm for bins and classes, and F * C * Holm for slices.

p_corrected depends only on the rows, not on the other places displayed, so every view agrees on whether a place is
off. Holm's rule is valid for tests of the same rows, and the split is valid for families that share rows. The chance
that any place of a calibrated model is called off is at most 5 %. Rates of false discoveries (Benjamini and Hochberg)
find more in long lists, but their p-values depend on which other lines are shown. All rows combined are not a place:
their test is fixed in advance, at the level that it shares with the errors it bounds.

References: Holm 1979; Bonferroni's inequality for the split.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.errors import NotAnswerable
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals
from calib_core.binning.bin_table import padded, tabulate_at
from calib_core.binning.interval_schemes import bins_of
from calib_core.claims.binary_claims import Claims
from calib_core.claims.exact_sums import Tally
from calib_core.columns.cut import divides
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.intervals.elementary import share_test
from calib_core.inference.noise.outcome_draws import poisson_binomial
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions, whole
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, claims_of

SMALLEST = 1e-12
"""p-values below this are reported as this: further out rounding decides."""
_INTERVALS = 256
_SAMPLE = 2_000
_REACH, _MARGIN = 8.0, 12.0
"""Counts are computed up to 8 standard deviations and 12 rows around the mean: 1e-14 is beyond."""
_AT_ONCE = 1_000_000
"""Probabilities in memory at a time."""


def score_nodes(scores: Floats | None = None) -> Float64s:
    """Return the probabilities for which laws of counts are computed, ascending from 0 to 1, at most 259.

    They are the distinct scores if there are at most 257 of them, so that nothing is rounded. Otherwise they are 257
    equidistant points on the scale arcsin(sqrt(s)), dense near 0 and 1.

    >>> score_nodes(np.array([0.9, 0.5, 0.9])).tolist()
    [0.0, 0.5, 0.9, 1.0]
    >>> len(score_nodes())
    257
    """
    if scores is not None and len(np.unique(scores[:_SAMPLE])) <= _INTERVALS + 1:
        own = np.unique(scores)
        if len(own) <= _INTERVALS + 1:
            return np.union1d(own.astype(np.float64), [0.0, 1.0])
    return np.sin(np.linspace(0.0, np.pi / 2, _INTERVALS + 1)) ** 2


def node_counts(nodes: Float64s, count: Float64s, score: Float64s) -> Float64s:
    """Assign claims between nodes to the nodes: counts (..., G - 1) and sums of scores become counts (..., G).

    A claim between two nodes is divided between them with the same mean score. On the nodes of ``score_nodes()`` the
    variance of a sum falls by a share of less than 4e-5. It is unchanged if the scores are nodes themselves.

    >>> node_counts(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0]), np.array([0.25, 1.0])).tolist()
    [0.5, 2.5, 0.0]
    """
    above = (score - count * nodes[:-1]) / np.diff(nodes)
    above = np.clip(above, 0.0, count)
    counts = np.zeros((*count.shape[:-1], len(nodes)))
    counts[..., :-1] += count - above
    counts[..., 1:] += above
    return counts


def counts_in_cells(
    nodes: Float64s, scores: Floats, cell: Codes, cells: int, weights: Float64s | None = None
) -> Float64s:
    """Claims at the nodes, (cells, G), of rows with these scores in these cells; weights are numbers of copies.

    >>> counts_in_cells(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.75]), np.array([1, 0]), 2).tolist()
    [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]
    """
    between = len(nodes) - 1
    exact = np.asarray(scores, dtype=np.float64)
    place = np.clip(np.searchsorted(nodes, exact, side="right") - 1, 0, between - 1)
    place += between * cell
    count = np.bincount(place, weights, cells * between).astype(np.float64)
    score = np.bincount(place, exact if weights is None else weights * exact, cells * between).astype(np.float64)
    return node_counts(nodes, count.reshape(cells, between), score.reshape(cells, between))


def count_test(nodes: Float64s, counts: Float64s, positives: Float64s) -> Float64s:
    """Two-sided p-values (m,) of the numbers of claims that came true, given their stated probabilities.

    ``counts`` (m, G) are claims at the ``nodes`` (G,), ``positives`` (m,) the numbers that came true. Under
    calibration their number K is Poisson-binomial, and p = min(1, 2 min(P(K <= k), P(K >= k))). If the scores are
    nodes, this is exact: P(p <= t) <= t for every t. Otherwise K's standard deviation is at most .002 % too small. p
    then has a relative error of .2 % down to 1e-4, and of 5 % below.

    The null hypothesis is that each row's score is its probability, not only that their means agree. A binomial law
    of the mean score spreads as much as any law of that mean, and misses errors that this one finds. NaN if there are
    no claims. What can mislead: rows are assumed to be independent. Single scores can be wrong although their mean is
    right. The test then rejects a little more often than its level, because the rows are not calibrated.

    References: Hong 2013 (the law by Fourier transform).

    >>> nodes = score_nodes(np.array([0.5]))
    >>> count_test(nodes, np.array([[0.0, 10.0, 0.0]]), np.array([10.0])).round(6).tolist()  # 2 * 0.5^10
    [0.001953]
    """
    return count_noise(nodes, counts, positives)[0]


def count_noise(nodes: Float64s, counts: Float64s, positives: Float64s) -> tuple[Float64s, Float64s]:
    """The p-values (m,) of ``count_test``, and the noise floors (m,) of the distance between both means.

    The floor is the distance from the mean score to the further of the two 2.5 % points of K, divided by the number of
    claims. At least 95 % of calibrated models have a smaller distance, and a larger one has a p of at most 5 %. Both
    are NaN if there are no claims.

    >>> nodes = score_nodes(np.array([0.5]))
    >>> p, floor = count_noise(nodes, np.array([[0.0, 100.0, 0.0]]), np.array([61.0]))  # 40 to 60 of 100
    >>> p.round(3).tolist(), floor.tolist()
    ([0.035], [0.1])
    """
    total, mean = counts.sum(axis=1), counts @ nodes
    half = _REACH * np.sqrt(counts @ (nodes * (1.0 - nodes))) + _MARGIN
    size = 2 ** np.ceil(np.log2(2.0 * half + 2.0)).astype(np.intp)
    p, floor = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    for window in np.unique(size[total > 0]):
        logs = _log_factors(nodes, int(window))
        those = np.flatnonzero((size == window) & (total > 0))
        for part in np.array_split(those, -(-len(those) * int(window) // _AT_ONCE)):
            low = np.maximum(0.0, np.floor(mean[part] - window / 2))
            law = _law(logs, counts[part], low, int(window))
            p[part] = _two_sided(law, low, positives[part])
            floor[part] = _reach(law, low, mean[part]) / total[part]
    return p, floor


def _log_factors(nodes: Float64s, window: int) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
    """log(1 + s (e^it - 1)) at the nodes and the frequencies of a window, (G, window / 2 + 1)."""
    turn = 2j * np.pi * np.fft.rfftfreq(window)
    factor = 1.0 + nodes[:, None] * np.expm1(turn)
    # Scores of 1/2 have a factor of 0 at half a turn, where the law's transform is 0 too.
    return np.asarray(np.log(np.where(np.abs(factor) < 1e-300, 1e-300, factor)))


def _law(
    logs: np.ndarray[tuple[int, ...], np.dtype[np.complex128]], counts: Float64s, low: Float64s, window: int
) -> Float64s:
    """Chances of the numbers from ``low`` on, (m, window)."""
    angle = 2.0 * np.pi * np.fft.rfftfreq(window)
    transform = np.exp(counts @ logs.real + 1j * (counts @ logs.imag - low[:, None] * angle))
    return np.maximum(np.fft.irfft(np.conj(transform), window, axis=1), 0.0)


def _two_sided(law: Float64s, low: Float64s, positives: Float64s) -> Float64s:
    place, window = np.rint(positives - low).astype(np.intp), law.shape[1]
    lines, inside = np.arange(len(law)), np.clip(place, 0, window - 1)
    below, above = np.cumsum(law, axis=1), np.cumsum(law[:, ::-1], axis=1)[:, ::-1]
    at_most = np.where(place < 0, 0.0, below[lines, inside])
    at_least = np.where(place > window - 1, 0.0, above[lines, inside])
    return np.clip(2.0 * np.minimum(at_most, at_least), SMALLEST, 1.0)


def _reach(law: Float64s, low: Float64s, mean: Float64s) -> Float64s:
    """Distance from the mean to the further of the 2.5 % points; rounding does not move a point."""
    below = np.cumsum(law, axis=1)
    lower, upper = (low + (below >= point - SMALLEST).argmax(axis=1) for point in (0.025, 0.975))
    reach: Float64s = np.maximum(mean - lower, upper - mean)
    return reach


FEWEST = 10
"""Rows below which a place is listed, not tested."""


def kinds_of_places(rows: Predictions) -> int:
    """Number of kinds of places whose tests share the 5 %: bins, three of classes if they are known, slices.

    ``rows`` are those of ``claimed_rows``; for the risk of an event there are bins and slices. The number depends
    only on the contents of the rows, never on a view. Slices are counted if a column divides the rows (``divides``).

    >>> kinds_of_places(Predictions.from_confidence([0.9], [True])), kinds_of_places(Predictions([[0.7, 0.3]], [0]))
    (1, 4)
    """
    return kinds_with_slices(rows) - int(not divides(rows))


def kinds_with_slices(rows: Predictions) -> int:
    """The same where slices are tested anyway, because their column was named.

    >>> kinds_with_slices(Predictions([[0.7, 0.3]], [0]))
    5
    """
    return 2 + {"confidence": 0, "top-label": 2}.get(rows.kind, 3)


def corrected_p(p: Float64s, tested: Bools, families: int) -> tuple[Float64s, Float64s]:
    """p-values (m,) of one family, NaN where not ``tested``, and the same corrected: ``families`` times Holm's.

    >>> [part.tolist() for part in corrected_p(np.array([0.001, 0.5, 0.01]), np.array([True, False, True]), 2)]
    [[0.001, nan, 0.01], [0.004, nan, 0.02]]
    """
    p = np.where(tested, p, np.nan)
    return p, np.minimum(families * holm(p), 1.0)


def worst_first(off: Bools, gap: Float64s, p: Float64s) -> Codes:
    """Positions in the one order of places: the significant ones by the size of their gap, then the rest by p.

    >>> worst_first(np.array([False, True, True]), np.array([0.5, -0.1, 0.2]), np.array([0.4, 1e-9, 0.001])).tolist()
    [2, 1, 0]
    """
    size = np.where(off, -np.abs(gap).round(12), 0.0)  # gaps that differ by rounding alone are equal
    return np.asarray(np.lexsort((np.where(np.isnan(p), 2.0, p), size, ~off)), dtype=np.intp)


def count_words(looked: str, found: int, more: str, place: str, except_for: str = "", named: str = "") -> str:
    """Describe how many of the places ``looked`` at are off, with a caveat if none is.

    ``except_for`` names a place that is off and whose p-value is not corrected. ``named`` lists the places that are
    off.

    >>> count_words("Of 7 places", 1, "", "place")
    'Of 7 places, 1 is significantly off (corrected for multiple testing).'
    """
    if not found:
        return f"{looked}, none is significantly off.{more} With few rows, an error of a {place} is rarely significant."
    be = "is" if found == 1 else "are"
    but = f"; the test over {except_for} needs no correction" if except_for else ""
    places = f": {named}" if named else ""
    return f"{looked}, {found:,} {be} significantly off{places} (corrected for multiple testing{but}).{more}"


def counts_rows(predictions: Predictions) -> bool:
    """True if rows are independent outcomes of equal weight, or copies of such."""
    return predictions.groups is None and whole(predictions.weights)


def rows_of_cells(predictions: Predictions, cell: Codes, cells: int) -> tuple[Codes, Codes | None]:
    """Numbers of rows per cell, copies included, and numbers of groups if there are any, both (cells,).

    >>> p = Predictions.from_confidence([0.9] * 4, [True] * 4, groups=[0, 0, 1, 2])
    >>> [part.tolist() for part in rows_of_cells(p, np.array([0, 0, 0, 1]), 2)]
    [[3, 1], [2, 1]]
    """
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    number = weights if whole(predictions.weights) else weights > 0
    rows = np.rint(np.bincount(cell, number, cells)).astype(np.intp)
    if predictions.groups is None:
        return rows, None
    n = int(predictions.groups.max(initial=0)) + 1
    pairs = np.unique((cell * n + predictions.groups)[weights > 0])
    return rows, np.bincount(pairs // n, minlength=cells)


def p_of_cells(predictions: Predictions, cell: Codes, cells: int) -> Float64s:
    """p-values (cells,) that in each cell as many rows are right as their confidences state; NaN in empty cells.

    Rows of equal weight, or copies: ``count_test``, with each row's confidence as its chance. Weights that are no
    counts and rows in groups: Hoeffding's bound (``share_test``).

    >>> p = Predictions.from_confidence([0.5] * 10 + [0.9], [True] * 11)
    >>> p_of_cells(p, np.array([0] * 10 + [1]), 3).round(6).tolist()  # 2 * 0.5^10, 2 * 0.9 is above 1
    [0.001953, 1.0, nan]
    """
    weights, scores = predictions.weights, predictions.confidence
    hits = np.bincount(cell, predictions.correct if weights is None else weights * predictions.correct, cells)
    if counts_rows(predictions):
        nodes = score_nodes(scores)
        return count_test(nodes, counts_in_cells(nodes, scores, cell, cells, weights), hits.astype(np.float64))
    total = np.bincount(cell, weights, cells).astype(np.float64)
    stated = np.bincount(cell, scores if weights is None else weights * scores, cells)
    with np.errstate(invalid="ignore"):
        return share_test(hits / total, stated / total, worth_of_cells(predictions, cell, cells), False)


def worth_of_cells(predictions: Predictions, cell: Codes, cells: int) -> Float64s:
    """Effective sample size of each cell (cells,), with ``cell`` (n,) the cell of each row.

    It is the number of rows, or of their copies. For other weights, and for grouped rows, it is (sum w)^2 over the sum
    over groups of (its weight in the cell)^2. Each group counts as one outcome.

    >>> p = Predictions.from_confidence([0.9] * 4, [True] * 4, groups=[0, 0, 1, 2])
    >>> worth_of_cells(p, np.array([0, 0, 0, 1]), 2).round(2).tolist()  # 3^2 / (2^2 + 1)
    [1.8, 1.0]
    """
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    total = np.bincount(cell, weights, cells).astype(np.float64)
    if counts_rows(predictions):
        return total
    together = np.arange(predictions.n_rows) if predictions.groups is None else predictions.groups
    n = int(together.max()) + 1
    pairs, inverse = np.unique(cell * n + together, return_inverse=True)
    squares = np.bincount(pairs // n, np.square(np.bincount(inverse, weights)), cells)
    return np.divide(total**2, squares, out=np.zeros(cells), where=squares > 0)


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
    """Test each class, one line per class: calibration error, mean error of calibrated models, and p-value.

    ``bins`` as for ``estimate``. ``progress`` receives percentages; an exception that it raises stops the work.

    Columns:

    - class, rows (claims about it), error (the class's ECE), calibrated (mean error of calibrated models);
    - beyond = (error - calibrated) * rows / n: what the class adds to the error of all n rows beyond noise (below 0:
      less than noise);
    - p, and p_holm corrected for the number of classes; NaN for a class without claims.

    If the classes are one of several ``families`` of places, p_holm is multiplied by their number. A class of fewer
    than ``fewest`` rows is then not tested (``picked_out``).

    The statistic is n times the ECE, T = sum_b |k_b - S_b|. In bin b, k_b claims came true and S_b is the sum of its
    scores. Under calibration k_b is Poisson-binomial and the bins are independent. Their laws are computed by Fourier
    transform and convolved. So p = P(T* >= T) needs no random draws and can be small enough to survive many classes (a
    thousand draws could not show anything at 50). A score counts as the mean of its slice, a sixteenth of a bin. This
    widens the laws by under a percent, so the test is slightly conservative. Distances are rounded to a grid, in the
    data and in the laws; its steps are small compared with the spread of T.

    What can mislead: classes share rows, so errors of several classes can be one error; a class of few rows passes
    whatever the model does. NotAnswerable for row weights that are not whole numbers, and for grouped rows.

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
            "per-class tests count rows, but these rows have weights that are not whole numbers; omit the weights"
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
    """Codes of the classes that are significantly off: p_holm of ``per_class_tests`` at most 0.05.

    They are ordered by their contribution to the error beyond noise, the largest first. The chance that any of them
    is called miscalibrated wrongly is at most 5 %, however many classes there are. What can mislead: a class that is
    not listed is not shown to be calibrated; with few rows, a class can hardly be significant.

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
    """Test the rows predicted as each class, one line per class, corrected as in every view (``picked_out``).

    The columns are those of ``per_class_tests`` in the top-label notion. For grouped rows, and weights that are not
    counts, they are only class, rows, p and p_holm. Hoeffding's bound on the mean gap of the class then gives p.

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
