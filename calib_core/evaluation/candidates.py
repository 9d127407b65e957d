"""Candidates for recalibration, and the gain of each over the original model on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import LOG_FLOOR, Codes, Float64s, frozen, rounding
from calib_core._base.pandas_input import rows_of
from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS, BinaryCalibrator, as_calibrator
from calib_core.calibrators.blend import as_candidate, is_candidate
from calib_core.estimators.base import as_estimator
from calib_core.evaluation.candidate_ranking import bold_claims
from calib_core.evaluation.likelihood_gain import best_gain
from calib_core.evaluation.row_losses import CONFIDENCE, RowLoss
from calib_core.inference.comparison.paired_differences import Difference
from calib_core.inference.comparison.score_differences import of_gains, of_own_outcomes, of_scores
from calib_core.inference.intervals.influence_functions import ConfidenceRows, Influence, auroc
from calib_core.predictions.predictions import NotAnswerable, Predictions, whole
from calib_core.registry.registry import Part, Recipe
from calib_core.text import count, rounded_up
from calib_core.text import rows as about_rows

IDENTITY = Recipe("CALIBRATORS", "identity")
FEWEST = 10
"""Right rows, and wrong ones, from which on the interval of an AUROC was simulated."""
SURE = 0.05
"""Probability at which calibrated models look as if a map of one number would help."""
FEW_ROWS = 1000
"""Rows up to which a map of one number is also tested by the likelihood ratio."""
ROWS_A_NUMBER = 50
"""Rows that a calibrator needs for every number it fits."""
FEW = 50
"""Largest multiple of the available rows that a default candidate may need."""
SINGLE = ("top-label", "confidence")
"""Kinds of rows that claim one probability, of being right."""
_ZERO = -np.log(LOG_FLOOR)
"""The log loss of a row in which happened what was given a probability of 0."""
NEW_ZERO = "a new probability of 0 in"
"""Beginning of the note on a candidate without a score; the number of rows follows."""
_UNKNOWN = Difference(float("nan"), float("nan"), float("nan"), float("nan"))


def candidates_for(predictions: Predictions) -> tuple[Recipe, ...]:
    """Default candidates for such predictions; the original model is first.

    They are declared in the registry. For whole rows they are top-label histogram binning and smooth maps of every
    kind, which a blend averages (``calibrators.Blend``). For single claims they are histogram binning and the smooth
    binary maps, with their ``prior`` where they have one. Without it, rows that scores separate get probabilities of
    nearly 0 and 1.

    >>> [recipe.key for recipe in candidates_for(Predictions.from_confidence([0.9], [True]))][:2]
    ['identity', 'confidence']
    """
    found = [IDENTITY]
    for key in CALIBRATORS:
        if not is_candidate(key, predictions.kind, predictions.n_classes):
            continue
        part = next((param.name for param in CALIBRATORS[key].params if isinstance(param.domain, Part)), "")
        smooth = [binary for binary in BINARY_CALIBRATORS if BINARY_CALIBRATORS[binary].flags.smooth]
        inner = [as_candidate(BINARY_CALIBRATORS, binary) for binary in smooth]
        filled = [CALIBRATORS.described(key, **{part: binary}) for binary in inner] if part else []
        found += filled or [as_candidate(CALIBRATORS, key, predictions.n_classes)]
    return tuple(found)


def simplicity(recipe: Recipe, classes: int, *, of_event: bool = False) -> tuple[float, ...]:
    """The order in which calibrators that do equally well are preferred, the least first.

    An update of one value comes first, as it leaves all other rows unchanged. Where classes are predicted, calibrators
    that change no predicted class come next, then those that fit fewer numbers. The number is declared: fifty rows for
    every number (``Profile.rows``, ``Shape.numbers``). The risk of an event (``of_event``) predicts no class. There the
    number of numbers comes first, and bins, which give many rows one risk, come after all smooth maps. Among
    calibrators with equally many numbers, those that can move a risk across 50 % come first. The others leave a wrong
    mean risk wrong. One that declares nothing comes last of its kind, as one by the values of a column does.

    >>> [simplicity(Recipe("CALIBRATORS", key), 3) for key in ("temperature", "vector")]
    [(False, 1.0), (True, 6.0)]
    >>> keys = ("top-label-hb", "temperature", "logistic-recalibration", "intercept")
    >>> sorted(keys, key=lambda key: simplicity(Recipe("CALIBRATORS", key), 2, of_event=True))
    ['intercept', 'temperature', 'logistic-recalibration', 'top-label-hb']
    """
    flags, params = CALIBRATORS[recipe.key].flags, dict(recipe.params)
    if params.get("only"):
        return False, 0.0
    if of_event:
        return flags.profile.family == "binning", _numbers(recipe, classes), flags.keeps_argmax
    return not flags.keeps_argmax, _numbers(recipe, classes)


def _numbers(recipe: Recipe, classes: int) -> float:
    """Declared number of fitted numbers of a calibrator, or of its bins; infinite where it is not declared."""
    if dict(recipe.params).keys() & {"by", "members"}:
        return np.inf
    return rows_needed(recipe, classes) / ROWS_A_NUMBER or np.inf


def rows_needed(recipe: Recipe, classes: int) -> int:
    """Approximate number of calibration rows needed, as declared by a calibrator or its binary one; 0 if neither does.

    A blend needs the mean of its members' numbers by weight, as it has that many degrees of freedom (Hansen 2007).

    >>> rows_needed(Recipe("CALIBRATORS", "temperature"), 3)
    50
    >>> rows_needed(CALIBRATORS.described("confidence", binary=BINARY_CALIBRATORS.described("platt")), 2)
    100
    """
    params: dict[str, Any] = dict(recipe.params)
    if params.get("members"):
        needed = [rows_needed(member, classes) for member in params["members"]]
        return rounded_up(float(np.average(needed, weights=params["weights"])))
    if declared := int(CALIBRATORS[recipe.key].flags.profile.rows_needed(classes)):
        return declared
    parts = (
        BINARY_CALIBRATORS.recipe(each)
        for each in vars(as_calibrator(recipe)).values()
        if isinstance(each, BinaryCalibrator)
    )
    return ROWS_A_NUMBER * sum(int(BINARY_CALIBRATORS[part.key].flags.numbers) for part in parts)


def rarity(rows: Predictions, value: Recipe | None = None) -> float:
    """Return the factor by which a rare event raises the number of rows that a calibrator needs; 1 without an event.

    It is 1 / (2 min(q, 1 - q)) with the event's frequency q. With so much more data, the rarer outcome occurs as often
    as if half of the rows had the event. An outcome that never occurred counts once. ``value`` is the update of one
    column value, which is fitted on the rows of this value.

    >>> round(rarity(Predictions([[0.9, 0.1]] * 100, [0] * 98 + [1] * 2)), 9)
    25.0
    """
    if rows.event is None or not rows.n_rows:
        return 1.0
    if value is not None and (params := dict(value.params)).get("only") and rows.metadata is not None:
        return rarity(rows.take(np.flatnonzero(rows_of(rows.metadata[str(params["by"])], str(params["only"])))))
    rate = float(np.average(rows.true_labels == rows.event, weights=rows.weights))
    return max(1.0, 0.5 / max(min(rate, 1 - rate), 1 / rows.n_rows))


def of_confidence(recipe: Recipe) -> Recipe | None:
    """The binary calibrator of the same name, applied to the confidence; None where there is none.

    >>> of_confidence(Recipe("CALIBRATORS", "temperature")).title
    'Temperature scaling of the confidence'
    """
    if recipe.key not in BINARY_CALIBRATORS:
        return None
    return CALIBRATORS.described("confidence", binary=BINARY_CALIBRATORS.described(recipe.key))


COLUMNS = (
    *("calibrator", "title", "score", "gain", "low", "high", "p", "p_holm", "gain_in_folds", "picked", "weight"),
    *("accuracy", "accuracy_gain", "accuracy_gain_low", "accuracy_gain_high"),
    *("auroc", "auroc_gain", "auroc_gain_low", "auroc_gain_high", "ranked_in"),
    *("mean_confidence", "mean_risk", "rows_needed", "equal_to_best", "note"),
)
"""Columns of ``Choice.frame``."""


ALL_ROWS, EACH_FOLD = "all rows", "each fold"
"""Rows that an AUROC of the table compares: where maps were fitted in folds, those of each fold, averaged."""


class FoldTrial:
    """Rows in folds, on which candidates are compared with the original model."""

    def __init__(
        self, rows: Predictions, fold: Codes, folds: int, score: str, level: float, costs: ArrayLike | str = ""
    ) -> None:
        self.rows, self.fold, self.folds, self.score, self.level, self.costs = rows, fold, folds, score, level, costs
        self.loss = RowLoss.of(score, costs, rows.n_classes or 2, rounding(rows.confidence.dtype))
        self.claims = rows.kind in SINGLE or score == CONFIDENCE
        self.base = self.seen(rows, None)
        # Summed over the classes right and wrong the Brier score of a claim is twice (c - z)^2, what it is elsewhere.
        self.unit = 0.5 if score == "brier" and rows.kind in SINGLE else 1.0
        exact = self.terms(self.base)
        self.impossible = np.isinf(exact)
        # A log loss counts at most what every other log loss here does, so that a model has one.
        self.floored = exact > self._most
        self.losses = frozen(np.minimum(exact, self._most))
        self.weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        self.nothing = np.zeros(rows.n_rows)

    def terms(self, rows: Predictions) -> Float64s:
        """Each row's term of the score, (n,)."""
        return self.unit * self.loss.of_rows(rows)

    def part(self, places: Codes) -> FoldTrial:
        """The trial on some of the rows."""
        fold = self.fold[places]
        return FoldTrial(self.rows.take(places), fold, self.folds, self.score, self.level, self.costs)

    @property
    def _most(self) -> float:
        """The largest loss of a row."""
        return _ZERO if self.loss.unbounded else np.inf

    def mean(self, values: Float64s) -> float:
        return float(self.weights @ values / self.weights.sum())

    def seen(self, after: Predictions, where: Codes | None) -> Predictions:
        """Predictions after a candidate, in a form that has a score."""
        if self.claims:
            return right_or_wrong(_answered(after))
        return _whole(self.rows if where is None else self.rows.take(where), after)

    def joined(self, parts: Sequence[Predictions], places: Sequence[Codes]) -> Predictions:
        """Rows of the folds' parts, in the form that has a score; claims are right or wrong by their own classes."""
        rows = self.base.with_parts(parts, places, "")
        if not self.claims:
            return rows
        back = np.argsort(np.concatenate(places))
        right = np.concatenate([part.true_labels for part in parts])[back]
        return Predictions(rows.probs, right, weights=rows.weights, groups=rows.grouping)

    def gains(self, after: Predictions, where: Codes | None, *, judged: bool = False) -> Float64s:
        """Reduction of each row's loss against the original model, (n,): minus infinity where it has a new 0.

        A class given a probability of 0 costs infinitely much once it happens: a row counts so whatever happened in it.
        Where what was picked is ``judged``, only what happened counts, a 0 as in every log loss here.
        """
        base, losses, impossible = self.base, self.losses, self.impossible
        if where is not None:
            base, losses, impossible = base.take(where), losses[where], impossible[where]
        seen = self.seen(after, where)
        new = self.terms(seen)
        new = np.where(np.isinf(new) & (not judged), np.inf, np.minimum(new, self._most))
        if not judged and self.loss.unbounded:
            new = np.where(((seen.probs == 0) & (base.probs > 0)).any(axis=1), np.inf, new)
        return np.asarray(np.where(impossible & np.isinf(new), 0.0, losses - new))

    def bold_claims(self, seen: Predictions) -> tuple[Float64s, Float64s]:
        """Expected number of outcomes in a row that a candidate all but rules out, and their cost."""
        n = self.rows.n_rows
        chances, costs = np.zeros(n), np.zeros(n)
        if not self.loss.unbounded:
            return chances, costs
        for where, block in self.base.rows.blocks():
            after = np.maximum(seen.rows.part(where).array().astype(np.float64), LOG_FLOOR)
            chances[where], costs[where] = bold_claims(block.astype(np.float64), after, 1 / n)
        return chances, costs

    def check_rows(self, recipe: Recipe) -> None:
        """Refuse a candidate that needs far more rows: it would take minutes to lose by."""
        if rows_needed(recipe, self.rows.n_classes or 2) > FEW * self.rows.n_rows:
            needed = self._named(recipe)["rows_needed"]
            raise NotAnswerable(
                f"not tried, as it needs about {about_rows(needed)} rows to be fitted on and is given "
                f"{count(self.rows.n_rows)}: name it to have it tried"
            )

    def left_out(self, recipe: Recipe, why: str) -> dict[str, object]:
        """The line of the table of a candidate that cannot be judged."""
        return dict.fromkeys(COLUMNS, float("nan")) | self._named(recipe) | {"note": why}

    def line(self, recipe: Recipe, after: Predictions, apart: Float64s) -> dict[str, Any]:
        """A candidate's line of the table, from all rows after maps fitted on other folds, and what they gain."""
        new = int(np.isneginf(apart).sum())
        gain, _, note = self.test(seen := self.seen(after, None), apart)
        if new:
            rows = "1 row" if new == 1 else f"{count(new)} rows"
            note = f"{NEW_ZERO} {rows}"
        line = self._named(recipe) | {"gain": gain.point, "low": gain.low, "high": gain.high, "p": gain.p_value}
        line |= {"score": self.mean(self.losses) - gain.point, "mean_confidence": after.mean_confidence, "note": note}
        event = self.rows.event
        line["mean_risk"] = np.nan if event is None else self.mean(seen.rows.column(event).astype(np.float64))
        return line | self._accuracy(recipe, after) | self._order(after if event is None else seen)

    def _named(self, recipe: Recipe) -> dict[str, Any]:
        needed, scale = rows_needed(recipe, self.rows.n_classes or 2), rarity(self.rows, recipe)
        needed = rounded_up(scale * needed) if scale > 1 else needed
        ranked = ALL_ROWS if self.folds == 1 else EACH_FOLD
        return {"calibrator": recipe.key, "title": recipe.title, "rows_needed": needed, "ranked_in": ranked}

    def test(self, after: Predictions, apart: Float64s, level: float | None = None) -> tuple[Difference, bool, str]:
        """The mean of the rows' gains with its interval, whether that is tested, and why there is none."""
        if np.isneginf(apart).any():
            return Difference(-np.inf, -np.inf, -np.inf, float("nan")), False, ""
        w = self.rows.weights
        copies = np.repeat(np.arange(len(apart)), w.astype(np.intp)) if w is not None and whole(w) else slice(None)
        both, apart = (self.base.written_out(), after.written_out()), apart[copies]
        tested, level = w is None and self.rows.row_groups is None, level or self.level
        try:
            if np.array_equal(both[0].true_labels, both[1].true_labels):
                found, _, _ = of_gains(*both, apart, lambda probs: self.unit * self.loss.of_labels(probs), level)
                return found, tested, ""
            return of_own_outcomes(both[0], apart, level), tested, ""
        except NotAnswerable as why:
            return Difference(self.mean(apart), np.nan, np.nan, np.nan), False, str(why)

    def without_floored(self, after: Predictions, apart: Float64s) -> Difference:
        """The gain on the rows in which the model's log loss is not at its most, by the same maps."""
        rest = np.flatnonzero(~self.floored)
        if not len(rest):
            return _UNKNOWN
        return self.part(rest).test(self.seen(after, None).take(rest), apart[rest])[0]

    def by_likelihood(self, recipe: Recipe, line: dict[str, Any], tilts: int) -> dict[str, Any] | None:
        """The line of a map of one number with the interval of the best such map, by the likelihood ratio.

        With few rows (``FEW_ROWS``) a gain of the best temperature or shift of a risk is significant earlier than that
        of the fitted one. None where the gain is not significant (at ``SURE``, corrected for the number of such maps),
        and where the map gains nothing in the folds. None also for other maps, scores and weighted rows.
        """
        if self.score != "log-loss" or self.rows.weights is not None or self.rows.n_rows > FEW_ROWS:
            return None
        t = self._tilt(recipe)
        if t is None or not 0 < line["gain"] < np.inf:
            return None
        units = np.arange(self.rows.n_rows) if self.rows.row_groups is None else self.rows.row_groups.codes
        best = best_gain(self.base.probs.astype(np.float64), self.base.true_labels, t, units, self.level)
        if best is None or best.p_value * max(tilts, 1) > SURE or not 0 < best.low < line["gain"] < best.high:
            return None
        return line | {"low": best.low, "high": best.high, "p": best.p_value}

    def _tilt(self, recipe: Recipe) -> Float64s | None:
        """Factors by which a map of one number tilts the base rows' probabilities, (n, K); None for other maps."""
        rows = self.base
        if not is_tilt(recipe):
            return None
        if recipe.key != "intercept":
            return np.log(np.maximum(rows.probs.astype(np.float64), LOG_FLOOR))
        if rows.event is None:
            return None
        t = np.zeros((rows.n_rows, 2))
        params = dict(recipe.params)
        t[:, rows.event] = 1.0
        if params.get("only") and self.rows.metadata is not None:
            t[~rows_of(self.rows.metadata[str(params["by"])], str(params["only"]))] = 0.0
        return t

    def _accuracy(self, recipe: Recipe, after: Predictions) -> dict[str, float]:
        """The share of right rows after a candidate, and what that gains."""
        gain = Difference(0.0, 0.0, 0.0, 1.0)
        if not CALIBRATORS[recipe.key].flags.keeps_argmax:
            try:
                both = after.written_out(), self.rows.written_out()
                gain, _, _ = of_scores(*both, as_estimator("accuracy"), self.level)
            except NotAnswerable:
                gain = _UNKNOWN
        return {"accuracy": after.accuracy, **_ends("accuracy", gain.point, gain.low, gain.high)}

    def _order(self, after: Predictions) -> dict[str, float]:
        """AUROC of the event's risk, or of the confidence of right and wrong rows, as a mean over folds.

        The mean over folds, as scores of two maps are not compared: a map that keeps the ranking, fitted in every fold,
        changes nothing. Folds of one outcome are left out. The AUROC of all rows together is another number.
        """
        new, old = self._auroc(after), self._base_auroc
        rows, gain = ConfidenceRows.ranked(after), new - old
        enough = min(rows.right.sum(), (~rows.right).sum()) >= FEWEST
        ends = gain.ends(self.level) if enough else (float("nan"), float("nan"))
        return {"auroc": new.value, **_ends("auroc", gain.value, *ends)}

    @cached_property
    def _base_auroc(self) -> Influence:
        return self._auroc(self.rows)

    def _auroc(self, after: Predictions) -> Influence:
        """The mean over folds."""
        parts = [auroc(ConfidenceRows.ranked(after.take(np.flatnonzero(self.fold == f)))) for f in range(self.folds)]
        order = np.argsort(self.fold, kind="stable")
        whole_rows = ConfidenceRows.ranked(self.rows.take(order))
        mass = np.array([part.weights.sum() if np.isfinite(part.value) else 0.0 for part in parts])
        if not mass.sum():
            return Influence(float("nan"), whole_rows.h * np.nan, whole_rows.weights, whole_rows.groups)
        scale = whole_rows.total / mass.sum()
        terms = [part.terms * scale if np.isfinite(part.value) else 0 * part.weights for part in parts]
        value = float(sum(m * part.value for m, part in zip(mass, parts, strict=True) if m) / mass.sum())
        return Influence(value, np.concatenate(terms), whole_rows.weights, whole_rows.groups)


def is_tilt(recipe: Recipe) -> bool:
    """True for a map of one number that tilts the model's log probabilities.

    >>> [is_tilt(Recipe("CALIBRATORS", key)) for key in ("temperature", "intercept", "vector")]
    [True, True, False]
    """
    params = dict(recipe.params)
    if recipe.key == "confidence":
        inner = params.get("binary")
        return isinstance(inner, Recipe) and inner == Recipe(inner.family, "temperature")
    return (recipe.key == "temperature" and not params) or (
        recipe.key == "intercept" and bool(params.get("only")) == bool(params.get("by"))
    )


def _ends(name: str, gain: float, low: float, high: float) -> dict[str, float]:
    """A gain and the ends of its interval, which are not those of the value it is a gain in."""
    return {f"{name}_gain": gain, f"{name}_gain_low": low, f"{name}_gain_high": high}


def right_or_wrong(rows: Predictions) -> Predictions:
    """Single claims as rows of two classes, wrong and right.

    >>> right_or_wrong(Predictions.from_confidence([0.75], [False])).probs.tolist()
    [[0.25, 0.75]]
    """
    h = rows.confidence.astype(np.float64)
    both = np.column_stack([1.0 - h, h])
    return Predictions(both, rows.correct.astype(np.intp), weights=rows.weights, groups=rows.grouping)


def _whole(base: Predictions, after: Predictions) -> Predictions:
    """Predictions after recalibration, as rows that have a score.

    A candidate may make only the claim h of the predicted class c. Class j then gets the rest in the old proportion,
    (1 - h) p_j / sum_{l != c} p_l, and an equal share where these are all 0. NotAnswerable for predictions without such
    a form.
    """
    after = _answered(after)
    if after.kind in ("full", "per-class"):
        return after
    if base.kind != "full" or after.n_ranked > 1:
        raise NotAnswerable("it says single probabilities of rows, which have no score of whole rows")
    probs, line, c = base.probs.astype(np.float64), np.arange(base.n_rows), after.predicted
    probs[line, c] = 0.0
    probs[probs.sum(axis=1) < 1e-300] = 1.0  # too small to be divided by
    probs[line, c] = 0.0
    h = after.confidence.astype(np.float64)
    probs *= ((1.0 - h) / probs.sum(axis=1))[:, None]
    probs[line, c] = h
    return base.with_probs(probs)


def _answered(after: Predictions) -> Predictions:
    """Return the predictions; NotAnswerable if they leave rows unanswered."""
    if after.abstained is not None:
        raise NotAnswerable("it leaves rows unanswered, so that its score is one of other rows")
    return after
