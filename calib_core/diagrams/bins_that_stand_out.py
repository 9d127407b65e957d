"""Significant bins of the reliability diagram, corrected for multiple testing, and consistency bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError, as_share
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable, tabulate, tabulate_at
from calib_core.claims.binary_claims import Claims, FlatClaims
from calib_core.claims.exact_sums import copies
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.diagrams.reliability import ReliabilityDiagram, is_pooled, pooled_marks, reliability
from calib_core.estimators.base import Question, claimed_rows, judged_notion
from calib_core.estimators.debiased import worth
from calib_core.inference.intervals.clustered_rows import GroupsInCells, groups_of, share_ends_of
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.intervals.grouped_row_noise import sums_in_cells
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.noise_floor import RESAMPLES, null_outcomes
from calib_core.inference.significance.count_tests import (
    FEWEST,
    corrected_p,
    count_test,
    kinds_of_places,
    node_counts,
    p_of_cells,
    score_nodes,
    worth_of_cells,
)
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.row_groups import RowGroups
from calib_core.reductions.base import Reduction, as_reduction, claims_of, scope
from calib_core.reductions.top import Confidence
from calib_core.text import begun, exact_end, exact_range, told_apart

OVER, UNDER = "overconfident", "underconfident"
_OPEN = 0.5
"""Width beyond which the upper end of a bin up to 1 is not shown."""
_WIDE = 0.1
"""Half-width of a calibrated model's interval beyond which a bin cannot show small errors."""


def bins_standing_out(
    models: Mapping[str, Predictions],
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
    notion: str | None = None,
) -> pd.DataFrame:
    """Every bin of the models' reliability diagrams: its interval, its test, and whether it is significantly off.

    One line per non-empty bin: model, bin, lower, upper, count, confidence, accuracy. ``low`` to ``high`` is the exact
    interval of the bin's true accuracy at ``level``, not corrected for the number of bins. The value p is that of the
    number of correct rows if every row's chance is its confidence (Poisson-binomial, ``count_test``). The value
    p_corrected is Holm's p among the bins of the model, times the kinds of places (``inference.picked_out``); other
    models do not matter. ``stands_out`` is "overconfident" or "underconfident" where p_corrected is at most 0.05,
    else empty. Bins with an effective sample size below ``FEWEST`` are not tested. ``too_few`` marks bins whose
    interval would reach 10 points to a side for a calibrated model with these confidences; this is known before
    outcomes are seen. ``notion`` as for ``reliability``. For an event, confidence is its predicted risk and accuracy
    its frequency; overconfident means that the risk is too high.

    Rows of unequal weight and in groups are tested by Hoeffding's bound (``share_test``). In the interval, rows of
    unequal weight count as the effective sample size of their own bin, (sum w)^2 / sum w^2. Rows in groups count as
    Korn and Graubard's effective sample size. Whether there are ``too_few`` is known with the rows of a group counted
    as one. What can mislead: the interval is valid whatever the chances of single rows are, but it is for one bin only.
    Of ten bins of a calibrated model, one interval excludes the confidence on average. A bin without a significant
    error may still be off; the errors of its classes may cancel.

    References: Clopper & Pearson 1934; Hong 2013 (Poisson-binomial law); Kish 1965 (weights); Korn & Graubard 1998;
    Holm 1979.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.6] * 10, [True] * 70 + [False] * 30 + [True] * 6 + [False] * 4)
    >>> bins_standing_out({"net": p}, 5)[["count", "low", "high", "stands_out"]].round(2).values.tolist()
    [[10.0, 0.3, 0.85, ''], [100.0, 0.62, 0.78, 'overconfident']]
    """
    as_share(level, "level")
    frames = []
    for title, given in models.items():
        predictions = claimed_rows(given, notion)
        diagram = reliability(given, bins, notion=notion)
        frame, groups = diagram.frame(), predictions.answered.row_groups
        frame = frame[["bin", "lower", "upper", "count", "confidence", "accuracy"]]
        frame.insert(0, "model", title)
        claims = Confidence().split(predictions)
        cells = tabulate_at(claims, diagram.lower[1:])
        sums = None if groups is None else GroupsInCells.of(claims, cells, groups)
        rows = worth(claims, cells)[0] if sums is None else sums.fewest
        low, high = _ends(claims, cells, sums, copies(given.weights), level)
        p, enough = _tested(predictions, claims, diagram.lower[1:], cells.tally.outcome[0], cells.count[0])
        p, corrected = corrected_p(p, enough, kinds_of_places(predictions))
        which = frame["bin"]
        ends = {"low": low[which], "high": high[which]}
        frames.append(frame.assign(rows=rows[which], p=p[which], p_corrected=corrected[which], **ends))
    table = pd.concat(frames, ignore_index=True)
    rows, p, corrected, low, high = (table.pop(name).to_numpy() for name in ("rows", "p", "p_corrected", "low", "high"))
    says, right = table["confidence"].to_numpy(), table["accuracy"].to_numpy()
    calm = clopper_pearson(says * rows, rows, level)
    sides = np.where(corrected <= SIGNIFICANCE, np.where(right < says, OVER, UNDER), "")
    few = ((calm[1] - calm[0]) / 2 > _WIDE) | np.isnan(p)
    return table.assign(low=low, high=high, stands_out=sides, too_few=few, p=p, p_corrected=corrected)


def _ends(
    claims: Claims, table: BinTable, sums: GroupsInCells | None, counted: bool, level: float
) -> tuple[Float64s, Float64s]:
    """Exact intervals of the observed frequency of each bin, (bins,); NaN in empty bins.

    They are the same in the table of bins, in the diagram, and in findings. Rows of unequal weight count as the
    effective sample size of their bin. ``sums`` are those of rows in groups.
    """
    if sums is not None:
        return share_ends_of(sums, counted, level)
    rows = worth(claims, table)[0]
    low, high = clopper_pearson(np.nan_to_num(table.mean_outcome[0]) * rows, rows, level)
    return np.where(rows > 0, low, np.nan), np.where(rows > 0, high, np.nan)


def _tested(
    rows: Predictions, claims: Claims, edges: Float64s, positives: Float64s, count: Float64s
) -> tuple[Float64s, Bools]:
    """p-values of the bins between these inner edges, NaN of empty ones, and which have rows enough."""
    if claims.grain == "counts":
        return _tests_of_counts(claims, score_nodes(), edges, positives), count >= FEWEST
    answered = rows.answered
    cell = np.searchsorted(edges.astype(answered.confidence.dtype), answered.confidence, side="right")
    cell, cells = cell.astype(np.intp), len(edges) + 1
    return p_of_cells(answered, cell, cells), worth_of_cells(answered, cell, cells) >= FEWEST


def _tests_of_counts(claims: Any, nodes: Float64s, edges: Float64s, positives: Float64s) -> Float64s:
    """p-values of counts on a grid with these edges; every cell's rows have its mean score."""
    cells = claims.stratum(0).cells
    number, sums = cells.count.astype(np.float64), np.asarray(cells.sums.value[0])
    mean = np.clip(sums / number, 0.0, 1.0)
    place = np.searchsorted(edges, mean, side="right") * (len(nodes) - 1)
    place = place + np.searchsorted(nodes[1:-1], mean, side="right")
    size = (len(edges) + 1) * (len(nodes) - 1)
    count, score = (
        np.bincount(place, part, size).astype(np.float64).reshape(-1, len(nodes) - 1) for part in (number, sums)
    )
    return count_test(nodes, node_counts(nodes, count, score), positives)


def headline(table: pd.DataFrame, names: Mapping[str, str] | None = None, happened: str = "") -> tuple[str, ...]:
    """Headline of a table of `bins_standing_out`, in one or two sentences: first model, then the others.

    ``names`` are what models are called in a sentence, by title. Only what the corrected tests show is claimed.
    ``happened`` is the name of the event in a sentence ("died") where the table is about its predicted risk. The
    headline is then about the first model only.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.7] * 100, ([True] * 7 + [False] * 3) * 10 + [True, False] * 50)
    >>> headline(bins_standing_out({"Original model": p}, 5), {"Original model": "the original model"})
    ('The original model is significantly overconfident in every bin.',)
    """
    called = {title: (names or {}).get(title, title) for title in dict.fromkeys(table["model"])}
    if happened:
        return _of_risks(table[table["model"] == table["model"].iloc[0]], happened)
    first, *others = (_claim(table[table["model"] == title], name) for title, name in called.items())
    if len(others) < 2:
        return (first, *others)
    off = [
        name for title, name in list(called.items())[1:] if (table["stands_out"][table["model"] == title] != "").any()
    ]
    if not off:
        return first, f"No bin of the other {len(others)} models is significantly off."
    listed = ", ".join(off) if len(off) < 4 else f"{len(off)} of them"
    return first, f"Of the other {len(others)} models, bins are significantly off in {listed}."


def _claim(table: pd.DataFrame, name: str) -> str:
    """One model's sentence."""
    sides = table["stands_out"].to_numpy()
    n, off = len(table), np.flatnonzero(sides != "")
    if not len(off):
        if table["too_few"].all():
            return f"No bin of {name} is significantly off; each has few rows."
        return f"No bin of {name} is significantly off."
    kinds = list(dict.fromkeys(sides[off]))
    if len(kinds) == 1:
        where = _stretch(table, off)
        if where is not None:
            return begun(f"{where}{name} is significantly {kinds[0]} in every bin.")
    counts = " and ".join(f"{kind} in {int((sides == kind).sum())}" for kind in kinds)
    distance = (table["accuracy"] - table["confidence"]).abs().to_numpy()
    worst = table.iloc[off[np.argmax(distance[off])]]
    where = edges_said(float(worst["lower"]), float(worst["upper"]))
    says, right = told_apart(float(worst["confidence"]), float(worst["accuracy"]))
    numbers = f"mean confidence {says}, accuracy {right}"
    if len(off) == 1:
        return f"At {where}, {name} is {kinds[0]}: {numbers}."
    return begun(f"{name} is {counts} of {n} bins. The largest significant gap is at {where}: {numbers}.")


def _of_risks(table: pd.DataFrame, happened: str) -> tuple[str, ...]:
    """Sentences on the bins of a predicted risk: where it is too high or too low, and the largest gap."""
    sides, n = table["stands_out"].map({OVER: "too high", UNDER: "too low"}).fillna("").to_numpy(), len(table)
    off = np.flatnonzero(sides != "")
    if not len(off):
        if table["too_few"].all():
            return ("No single bin of predicted risk is significantly off; each has few rows.",)
        return ("No single bin of predicted risk is significantly off.",)
    says, right = (table[name].to_numpy(dtype=np.float64) for name in ("confidence", "accuracy"))
    worst = off[np.argmax(np.abs(right - says)[off])]
    numbers = told_apart(float(says[worst]), float(right[worst]))
    example = f"At a mean risk of {numbers[0]}, {numbers[1]} {happened}."
    kinds = list(dict.fromkeys(sides[off]))
    if len(off) == 1:
        where = edges_said(float(table["lower"].iloc[worst]), float(table["upper"].iloc[worst]))
        return f"Predicted risks of {where} are significantly {kinds[0]}.", example
    if len(kinds) == 1 and off[-1] - off[0] == len(off) - 1:
        where = edges_said(float(table["lower"].iloc[off[0]]), float(table["upper"].iloc[off[-1]]))
        return f"Predicted risks of {where} are significantly {kinds[0]}.", example
    counted = " and ".join(f"{kind} in {int((sides == kind).sum())}" for kind in kinds)
    return f"Predicted risks are significantly {counted} of {n} bins.", example


@lru_cache(maxsize=1024)
def edges_said(low: float, high: float) -> str:
    """A bin or a range in percent, with the digits that make it exact; "or more" for a wide last one.

    Ends that no digits distinguish are one number.

    >>> edges_said(14 / 15, 1.0), edges_said(0.985, 0.99), edges_said(0.02, 1.0), edges_said(1 - 1e-9, 1.0)
    ('93.3 to 100 %', '98.5 to 99 %', '2 % or more', 'about 100 %')
    """
    if high >= 1 and low > 0 and high - low > _OPEN:
        return f"{exact_end(low)} or more"
    first, _, last = (text := exact_range(low, high)).partition(" to ")
    return f"about {last}" if f"{first} %" == last else text


def _stretch(table: pd.DataFrame, off: np.ndarray[tuple[int], np.dtype[np.intp]]) -> str | None:
    """The end from which on, or up to which, exactly all bins are significant; None otherwise."""
    n = len(table)
    if len(off) == n and n > 1:
        return ""
    if len(off) > 1 and off[-1] - off[0] == len(off) - 1:
        if off[-1] == n - 1:
            return f"Above {exact_end(float(table['lower'].iloc[off[0]]))}, "
        if off[0] == 0:
            return f"Below {exact_end(float(table['upper'].iloc[off[-1]]))}, "
    return None


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityBands(Diagram):
    """Two answers per bin of one stratum; arrays are (bins,), NaN where a bin is empty.

    ``accuracy_low`` to ``accuracy_high`` contains the bin's true accuracy (exact). ``band_low`` to ``band_high``
    contains the star of a calibrated model with these scores (consistency band). Both are at ``level`` per bin.
    ``pooled`` has those of marks for several bins of few rows (``pooled_marks``); None without such marks.
    """

    formula: ClassVar[str] = (
        r"\bar z_b^{\,*} = \frac{1}{n_b} \sum_{i \in b} z_i^*,\quad z_i^* \sim \text{Bernoulli}(s_i)"
    )

    lower: Float64s
    upper: Float64s
    count: Float64s
    confidence: Float64s
    accuracy: Float64s
    accuracy_low: Float64s
    accuracy_high: Float64s
    band_low: Float64s
    band_high: Float64s
    level: float
    pooled: ReliabilityBands | None = None

    @property
    def outside(self) -> int:
        """Number of stars outside their band; by chance about (1 - level) of the bins."""
        slack = 1e-12
        return int(((self.accuracy < self.band_low - slack) | (self.accuracy > self.band_high + slack)).sum())

    def frame(self) -> pd.DataFrame:
        """One line per non-empty bin, exactly the numbers drawn."""
        names = ("lower", "upper", "count", "confidence", "accuracy", "accuracy_low", "accuracy_high")
        columns = {name: getattr(self, name) for name in (*names, "band_low", "band_high")}
        return pd.DataFrame({"bin": np.arange(len(self.lower)), **columns})[self.count > 0].reset_index(drop=True)

    def marks(self) -> pd.DataFrame:
        """One line per mark of the diagram: those of single bins are lines of ``frame``."""
        marks = pooled_marks(self.frame())
        if self.pooled is not None:
            several = is_pooled(marks)
            ends = ["accuracy_low", "accuracy_high", "band_low", "band_high"]
            marks.loc[several, ends] = self.pooled.frame().loc[several, ends]
        return marks


def reliability_bands(
    predictions: Predictions,
    bins: int | str | Sequence[float] | BinningScheme | None = None,
    reduction: str | Reduction | None = None,
    stratum: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    random_state: int = SEED,
) -> ReliabilityBands:
    """Exact intervals and consistency bands for the bins of a reliability diagram.

    ``bins`` is a number of equal-width bins, a key of BINNINGS, a list of edges or a scheme. By default risks of an
    event have the bins of ``binning.risk_bins``. The band resamples outcomes from the scores on the same bins and takes
    the middle ``level`` of each bin's mean outcomes. A star outside its band is unlikely for a calibrated model. Rows
    of unequal weight count as the effective sample size of their own bin, (sum w)^2 / sum w^2. Rows in groups count as
    Korn and Graubard's effective sample size. Their band is the widest of those with outcomes drawn independently
    and in groups. What can mislead: bands are valid for one bin each, not jointly. Of ten stars of a calibrated model,
    one lies outside its 90 % band on average.

    References: Broecker & Smith 2007, Increasing the reliability of reliability diagrams; Clopper & Pearson 1934; Kish
    1965 (weights); Korn & Graubard 1998 (groups).

    >>> p = Predictions.from_confidence([0.6] * 100, [True] * 60 + [False] * 40)
    >>> reliability_bands(p, 5).frame()[["band_low", "band_high"]].round(1).values.tolist()
    [[0.5, 0.7]]
    """
    reduction = judged_notion(reduction, predictions)
    question = Question(predictions.written_out(), as_reduction(reduction), None)
    claims: Any = claims_of(question.predictions, reduction)
    groups = groups_of(question)
    mine, weights = _alone(claims, stratum), claims.stratum(stratum).weights
    of_event = scope(as_reduction(reduction)).of == "event"
    table = tabulate(mine, [risk_bins(mine, bins) if of_event else as_binning(bins)])[0]
    own = None if groups is None else groups.take(claims.rows_of(stratum, question.ranks))

    def banded(table: BinTable) -> ReliabilityBands:
        return _banded(mine, table, own, copies(weights), level, resamples, random_state)

    bands = banded(table)
    marks = pooled_marks(bands.frame()[["bin", "count"]])
    if not is_pooled(marks).any():
        return bands
    return replace(bands, pooled=banded(tabulate_at(mine, table.lower[0, marks["bin"].to_numpy()[1:]])))


def _banded(
    mine: Any,
    table: BinTable,
    own: RowGroups | None,
    counted: bool,
    level: float,
    resamples: int,
    random_state: int,
) -> ReliabilityBands:
    """Intervals and bands of the bins of a table; ``own`` are the groups of its rows, if any."""
    sample = null_outcomes(mine, table)
    rows = table.count[0]
    drawn = np.concatenate([sample(rng, count)[:, 0] for count, rng in outcome_draws.streams(resamples, random_state)])
    shares = np.divide(drawn, rows, out=np.full(drawn.shape, np.nan), where=rows > 0)
    low, high = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    filled = rows > 0
    ends = (1 - level) / 2, (1 + level) / 2
    low[filled], high[filled] = np.quantile(shares[:, filled], ends, axis=0)
    cells = None
    if own is not None:
        for sums in sums_in_cells(mine, table, own, random_state):
            least, most = np.quantile(sums[:, filled] / rows[filled], ends, axis=0)
            low[filled] = np.clip(np.minimum(low[filled], least), 0.0, 1.0)
            high[filled] = np.clip(np.maximum(high[filled], most), 0.0, 1.0)
        cells = GroupsInCells.of(mine, table, own)
    sure = _ends(mine, table, cells, counted, level)
    parts = (rows, table.mean_score[0], table.mean_outcome[0], *sure, low, high)
    return ReliabilityBands(table.lower[0], table.upper[0], *parts, level)


def _alone(claims: Claims, stratum: int) -> Any:
    """The claims of one stratum by themselves."""
    part: Any = claims.stratum(stratum)
    if claims.grain == "counts":
        counted: Any = claims
        return replace(counted, cells=part.cells, strata=(claims.strata[stratum],), shares=np.ones(1))
    codes = np.zeros(len(part.scores), dtype=np.intp)
    return FlatClaims(part.scores, part.outcomes, codes, (claims.strata[stratum],), np.ones(1), part.weights)


def banded_bins(diagram: ReliabilityDiagram, bands: ReliabilityBands) -> pd.DataFrame:
    """The bins of a reliability diagram with their intervals and bands: the numbers of both, a line per non-empty bin.

    InputError where the two are not of the same bins. What can mislead: of ten stars of a calibrated model one lies
    outside its 90 % band on average.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6] * 100, [True] * 60 + [False] * 40)
    >>> frame = banded_bins(reliability(p, 5), reliability_bands(p, 5))
    >>> frame[["bin", "accuracy", "band_low"]].round(1).values.tolist()
    [[3.0, 0.6, 0.5]]
    """
    stars, limits = diagram.frame(), bands.frame()
    alike = ["bin", "lower", "upper", "count"]
    if not stars[alike].equals(limits[alike]):
        raise InputError("the bands and the diagram have different bins")
    return stars.join(limits[["accuracy_low", "accuracy_high", "band_low", "band_high"]])
