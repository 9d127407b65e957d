"""Two models on the same rows: how far their errors differ, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calib_core._base.errors import as_share
from calib_core.binning.base import BinningScheme, cuts
from calib_core.binning.groups import Groups
from calib_core.binning.interval_schemes import Distinct
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import ESTIMATORS, Estimator, Question, as_estimator, own_bins, traits
from calib_core.inference.comparison.cell_differences import BinsOf, in_cells, of_cells
from calib_core.inference.comparison.interval_differences import of_intervals
from calib_core.inference.comparison.paired_difference import PairedDifference
from calib_core.inference.comparison.score_differences import of_confidences, of_scores
from calib_core.inference.intervals.bins_of_interval import target
from calib_core.predictions.alignment import check_same_rows
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import same_groups
from calib_core.reductions.base import Reduction, Scope, as_reduction, scope
from calib_core.registry.registry import RegistryError

DEFAULT = "debiased-l2"
"""The estimator whose differences are told most sharply."""

GROUP_ROWS = {1: 50, 2: 20}
"""Fewest rows of the groups that claims by class are put in where no bins are given, by the order of the error."""

_CONFIDENCE = Scope("top")
"""Notions of one claim a row, to be right."""

_OF_BOTH_CLASSES = {"brier": 2, "log-loss": 1}
"""How many times the event's score that of whole rows is: both classes add the same to the Brier score."""


def paired_difference(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    bins_of: BinsOf = "each",
    level: float = LEVEL,
    random_state: int = SEED,
) -> PairedDifference:
    """How much larger a's error is than b's on the same rows: its interval, and a test of no difference.

    What is done depends on the estimator.

    - Debiased squared error, where a row makes one claim (confidence, top-label, one class): an unbiased estimate from
      pairs of rows that share a cell, with a normal interval from rows and pairs under both models
      (``joint_cells.squared_difference``).
    - ECE and debiased ECE of such claims: residuals summed by signs that other rows tell
      (``joint_cells.absolute_difference``).
    - Both, with fewer than ten outcomes' worth of squared residuals: each model's own interval, as below; in the bins
      of one model bounds from counts, which never tell the models apart.
    - Scores of whole predictions (``reduction`` None), and of the risk of an event: Student's interval for the mean of
    the rows' differences; a
      score interval for accuracies; bounds where one unseen outcome could change much (``score_differences``).
    - Scores of the confidence, which are all that bare confidences have: the share right, and the loss of each
      confidence as a claim to be right, by the same intervals (``score_differences.of_confidences``).
    - Anything else (RMSCE, MCE, class-wise and top-k errors, kernel and smooth errors, the simplex, weights that are
      not whole): each model's own interval at level 1 - (1 - level) / 2; the difference lies between their extremes if
      both hold. Conservative and wide, since what the models have in common does not cancel. The p-value is the
      smallest of ``LADDER`` at which the two intervals part. Grouped rows always come here, or to Student's interval
      of group sums for scores, since pairs of rows and folds are made for independent ones.

    Of a summary the rows are gone, so that nobody knows which of them two models have in common: each model's own
    interval decides, which is valid whatever these are. Rows that both keep can be paired (``kept_together``).

    ``bins_of`` "first" or "second" puts every row in that model's cell for both models; both must then make claims
    about the same outcomes. Where no bins are given (``declared_bins``): a model that is declared discrete and one that
    is not are both judged one bin a value of the discrete one, as the base model of a recalibration has to be (P1 App.
    F); two discrete ones each one bin a value; of others claims by class are judged in groups of at least 20 rows (ECE:
    50), each model in its own. ``about`` says which.

    Models that make the same claims differ by 0, exactly. The rows must be the same in the same order: InputError
    names the first whose labels differ. (Bare confidences have no labels to compare.) What can mislead: errors on bins
    placed by each model's own scores differ by the bins.

    References: P1 App. F; P2 Def. 5.2.

    >>> a = Predictions([[0.9, 0.1]] * 200, [0] * 180 + [1] * 20)
    >>> b = Predictions([[0.6, 0.4]] * 200, [0] * 180 + [1] * 20)
    >>> gain = paired_difference(a, b, None, "brier")  # 0.18 - 0.36: nine rows of ten gain 0.3, one loses 0.9
    >>> round(gain.value, 2), gain.low < -0.18 < gain.high
    (-0.18, True)
    >>> gain = paired_difference(a, b)  # a is right as often as it says, b says 0.3 too little: 0 - 0.3^2
    >>> round(gain.point, 2), gain.high < 0
    (-0.09, True)
    """
    as_share(level, "level")
    if "counts" in (a.grain, b.grain):
        return _of_counts(a, b, reduction, estimator, bins, bins_of, level, random_state)
    first, second = same_rows(a, b)
    if reduction is None:
        return _of_scores(first, second, as_estimator(estimator, bins), level)
    notion = as_reduction(reduction)
    key = ESTIMATORS.recipe(as_estimator(estimator)).key
    if scope(notion).of == "event" and key in _OF_BOTH_CLASSES:
        whole = _of_scores(first, second, as_estimator(estimator), level)
        parts = ("first", "second", "low", "high", "point")
        return replace(whole, **{name: getattr(whole, name) / _OF_BOTH_CLASSES[key] for name in parts})
    if scope(notion) == _CONFIDENCE and "predictions" in traits(as_estimator(estimator)).takes:
        known = _of_confidences(first, second, as_estimator(estimator), level)
        if known is not None:
            return known
    if bins is None and bins_of == "each":
        bins, bins_of = declared_bins(first, second, notion, estimator)
    method = _with_groups(estimator, notion.split(first)) if bins is None else as_estimator(estimator, bins)
    questions = (Question(first.answered, notion, method), Question(second.answered, notion, method))
    if all(map(in_cells, questions)) and first.row_groups is None:
        return of_cells(questions, bins_of, level, random_state)
    if bins_of != "each":
        raise NotAnswerable(
            "one model's bins can be used for both only where a row makes one claim and the error is the ECE or the "
            "debiased squared error"
        )
    return of_intervals(questions, level, random_state)


def _of_counts(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None,
    estimator: str | Estimator,
    bins: int | str | BinningScheme | None,
    bins_of: BinsOf,
    level: float,
    random_state: int,
) -> PairedDifference:
    """The difference where one of the two is a summary, whose rows cannot be paired with others."""
    if bins_of != "each":
        raise NotAnswerable("one model's bins can be used for both only where rows are known, and a summary has none")
    method, notion = as_estimator(estimator, bins), None if reduction is None else as_reduction(reduction)
    if notion is None and "predictions" not in traits(method).takes:
        raise RegistryError("this estimator needs a notion: give reduction=")
    first, second = (Question(p.written_out().answered, notion, method) for p in (a, b))
    return of_intervals((first, second), level, random_state, same_rows=False)


def declared_bins(
    a: Predictions, b: Predictions, reduction: str | Reduction, estimator: str | Estimator = DEFAULT
) -> tuple[BinningScheme | None, BinsOf]:
    """The bins in which two models are compared where none are given, and whose they are.

    One bin a value where outputs are declared discrete, and that model's for both: wider bins flatter the discrete
    model, other bins compare bins and not models. None where neither is declared discrete, where the estimator has bins
    of its own, and where bins cannot be shared: a row makes several claims, or the two make claims about different
    outcomes.

    References: P1 App. F, Remark 1.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> declared_bins(p, p.as_discrete(), "confidence"), declared_bins(p, p, "confidence")
    ((Distinct(), 'second'), (None, 'each'))
    """
    if not isinstance(estimator, str) or not (a.discrete or b.discrete):
        return None, "each"
    schemes = [own_bins(p, estimator) for p in (a, b)]
    first, second = (scheme is not None and cuts(scheme).one_a_value for scheme in schemes)
    notion, method = as_reduction(reduction), as_estimator(estimator)
    questions = [Question(p.answered, notion, method) for p in (a, b)]
    if not all(map(in_cells, questions)) or not (first or second):
        return None, "each"
    if first and second:
        return Distinct(), "each"
    alike = np.array_equal(questions[0].claims.outcomes, questions[1].claims.outcomes)
    return (Distinct(), "first" if first else "second") if alike else (None, "each")


def check_comparable(a: Predictions, b: Predictions) -> None:
    """InputError unless two models are judged on the same rows, with the same weights and in the same groups."""
    check_same_rows(a, b)
    weights = [np.ones(p.n_rows) if p.weights is None else p.weights for p in (a, b)]
    differ = np.flatnonzero(weights[0] != weights[1])
    if len(differ):
        i = int(differ[0])
        raise InputError(
            f"row {i} has the weight {weights[0][i]:g} in one model and {weights[1][i]:g} in the other: models are "
            "compared on the same rows with the same weights"
        )
    if not same_groups(a.row_groups, b.row_groups):
        raise InputError(
            "the models name other groups of rows: models are compared on the same rows in the same groups"
        )


def same_rows(a: Predictions, b: Predictions) -> tuple[Predictions, Predictions]:
    """Both models' rows, checked to be the same, with the same weights and answered by both or by none."""
    check_comparable(a, b)
    declined = [np.zeros(p.n_rows, dtype=bool) if p.abstained is None else p.abstained for p in (a, b)]
    differ = np.flatnonzero(declined[0] != declined[1])
    if len(differ):
        raise NotAnswerable(
            f"row {int(differ[0])} is answered by one model and not by the other ({len(differ)} rows in all): they "
            "make no claims about the same rows; compare them on the rows both answer"
        )
    return a.written_out(), b.written_out()


def _of_scores(a: Predictions, b: Predictions, score: Any, level: float) -> PairedDifference:
    if "predictions" not in traits(score).takes:
        raise RegistryError("this estimator needs a notion: give reduction=")
    bare = [p.kind == "confidence" or (p.kind == "top-label" and traits(score).judged == "losses") for p in (a, b)]
    if any(bare) and not all(bare):
        raise NotAnswerable(
            "of one of the two models only the confidence is known: compare the scores of the confidence, which both "
            "have (notion confidence)"
        )
    if all(bare):
        known = _of_confidences(a, b, score, level)
        if known is None:
            first, second = (Question(p.answered, as_reduction("confidence"), score) for p in (a, b))
            return of_intervals((first, second), level, SEED)
        return known
    difference, method, tested = of_scores(a, b, score, level)
    values = (score.of(a), score.of(b))
    return PairedDifference.of(values, difference, level, method, tested, "the difference of expected scores")


def _of_confidences(a: Predictions, b: Predictions, score: Any, level: float) -> PairedDifference | None:
    """The difference of two scores of the confidence; None where rows are too few for a paired one."""
    found = of_confidences(a, b, score, level)
    if found is None:
        return None
    values, difference, method, tested = found
    alike = np.array_equal(a.confidence, b.confidence) and np.array_equal(a.correct, b.correct)
    if alike:
        return PairedDifference.of_same_claims(values, level)
    return PairedDifference.of(values, difference, level, method, tested, "the difference of expected scores")


def _with_groups(estimator: str | Estimator, claims: Any) -> Any:
    """The estimator in groups of enough rows, where it is given by key, reads bins and the claims are by class."""
    method = as_estimator(estimator)
    order = (target(method) or ("max", float))[0]
    by_class = len(claims.strata) > 1 and claims.grain == "rows" and not claims.same_rows
    if isinstance(estimator, str) and by_class and order in GROUP_ROWS:
        return as_estimator(estimator, Groups(GROUP_ROWS[int(order)]))
    return method
