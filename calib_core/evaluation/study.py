"""Studies: calibrators fitted on some rows and evaluated on others, as one tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from calib_core._base.diagram import Diagram
from calib_core._base.notebook_display import OneLine
from calib_core._base.sklearn_api import clone
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.groups import tabulate_alike
from calib_core.binning.interval_schemes import bins_of, bins_said
from calib_core.calibrators.base import CALIBRATORS, Calibrator, as_calibrator
from calib_core.claims.binary_claims import Claims
from calib_core.estimators.base import (
    ESTIMATORS,
    Estimator,
    as_estimator,
    estimate,
    is_score,
    notion_looked_at,
    own_bins,
    takes_bins,
    titled,
)
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, as_reduction, claims_of

__all__ = [
    "MEASURES",
    "SCORES",
    "Comparison",
    "Counting",
    "Measure",
    "SideEffects",
    "asked_once",
    "compared",
    "error_keys",
    "evaluate",
    "every_measure",
    "notion_of_score",
    "notions_of_scores",
    "over_same_rows",
    "over_same_rows_by_name",
    "ranks",
    "rows_among",
    "rows_said",
    "side_effects",
    "stacked",
    "summaries",
]

SCORES = ("accuracy", "log-loss", "brier")


def notion_of_score(key: str, *models: Predictions) -> str | None:
    """Notion for a score of whole predictions: the event for the Brier score of two classes, else None.

    For an event the Brier score is the mean of (risk - outcome)^2, half of the sum over both classes. A risk therefore
    has the same number everywhere.

    >>> p, three = Predictions([[0.7, 0.3]], [0]), Predictions([[0.7, 0.2, 0.1]], [0])
    >>> notion_of_score("brier", p), notion_of_score("log-loss", p), notion_of_score("brier", p, three)
    ('event', None, None)
    """
    of_event = all(m.event is not None for m in models)
    return "event" if key == "brier" and models and of_event else None


def notions_of_scores(*models: Predictions) -> dict[str, str | None]:
    """Notion of every score in tables of these models, by key (``notion_of_score``).

    Models with one confidence per row have only the losses of being right or wrong, which are scores of the confidence.

    >>> notions_of_scores(Predictions.from_confidence([0.9], [True]))
    {'accuracy': None, 'log-loss': 'confidence', 'brier': 'confidence'}
    """
    scores = {key: notion_of_score(key, *models) for key in SCORES}
    if any(model.kind in ("confidence", "top-label") for model in models):
        scores |= dict.fromkeys(("log-loss", "brier"), "confidence")
    return scores


def asked_once(questions: Iterable[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Pairs of notion and estimator without duplicates of a score under another pair.

    >>> asked_once([("confidence", "brier"), ("top-label", "brier"), ("top-label", "ece")])
    [('confidence', 'brier'), ('top-label', 'ece')]
    """
    first: dict[object, tuple[str | None, str]] = {}
    for notion, key in questions:
        of = None if notion is None else REDUCTIONS.recipe(notion)
        same = titled(of, ESTIMATORS.recipe(key)) if of and is_score(key) else (notion, key)
        first.setdefault(same, (notion, key))
    return list(first.values())


Counting: TypeAlias = Literal["answered", "all"]
"""Rows of a table of several models if some abstain (``over_same_rows``)."""


def error_keys(notion: str | None = None) -> tuple[str, ...]:
    """Keys of the estimators of errors of claims, with one key per estimator.

    For a ``notion`` with a single stratum it leaves out those that differ only by averaging over classes.

    >>> "ece" in error_keys(), "binned" in error_keys(), "brier" in error_keys()
    (True, False, False)
    >>> "mce-of-bins" in error_keys("confidence"), "mce-of-bins" in error_keys("top-label")
    (False, True)
    """
    of_claims = (k for k in ESTIMATORS if k not in SCORES and "claims" in ESTIMATORS[k].flags.takes)
    every = [k for k in of_claims if ESTIMATORS.recipe(ESTIMATORS.make(k)).key == k]
    single = notion is not None and REDUCTIONS[notion].flags.one_stratum
    return tuple(k for k in every if not (single and ESTIMATORS[k].flags.in_one_stratum in every))


@dataclass(frozen=True)
class Measure:
    """One number of a summary: its name, its notion (None: whole predictions) and its estimator."""

    name: str
    reduction: str | None
    estimator: str
    higher_is_better: bool = False


MEASURES = (
    Measure("Accuracy", None, "accuracy", higher_is_better=True),
    Measure("Log loss", None, "log-loss"),
    Measure("Brier score", None, "brier"),
    Measure("conf-ECE", "confidence", "ece"),
    Measure("TL-ECE", "top-label", "ece"),
    Measure("CW-ECE", "class-wise", "ece"),
    Measure("conf-MCE", "confidence", "mce"),
    Measure("TL-MCE", "top-label", "mce"),
    Measure("TL-MCE of bins", "top-label", "mce-of-bins"),
)
"""Measures shown with a reliability diagram."""


def every_measure(classes: int | None = None) -> tuple[Measure, ...]:
    """Scores, then ECE and MCE in every notion with binary claims about all classes.

    It leaves out notions that add nothing for this number of ``classes``, such as the first k ranks of two.
    """
    short = {m.reduction: m.name.removesuffix("-ECE") for m in MEASURES if m.estimator == "ece"}
    names = {key: short.get(key, REDUCTIONS[key].title) for key in REDUCTIONS if key not in _PARTIAL}
    names = {key: name for key, name in names.items() if REDUCTIONS[key].flags.adds_to(classes)}
    errors = [Measure(f"{name}-{e.upper()}", key, e) for e in ("ece", "mce") for key, name in names.items()]
    return (*(m for m in MEASURES if m.reduction is None), *errors, MEASURES[-1])


_PARTIAL = ("class-specific", "canonical")
"""Notions about one class or about whole vectors, which are not comparable with the others."""


def stacked(parts: Mapping[str, pd.DataFrame | Diagram], column: str = "model") -> pd.DataFrame:
    """Concatenate frames, each with its name in a first column.

    ``parts`` are frames, or diagrams with a frame, by name; rows keep their order and get new numbers.

    >>> stacked({"a": pd.DataFrame({"gap": [0.1]}), "b": pd.DataFrame({"gap": [0.2]})}).values.tolist()
    [['a', 0.1], ['b', 0.2]]
    """
    frames = {name: part if isinstance(part, pd.DataFrame) else part.frame() for name, part in parts.items()}
    if not frames:
        return pd.DataFrame(columns=[column])
    whole: pd.DataFrame = pd.concat(list(frames.values()), ignore_index=True)
    whole.insert(0, column, [name for name, frame in frames.items() for _ in range(len(frame))])
    return whole


def recalibrated(fit: Predictions, test: Predictions, calibrator: str | Calibrator) -> Predictions:
    """Return the test rows after a calibrator fitted on the fit rows; the given calibrator stays unfitted."""
    fresh: Calibrator = clone(as_calibrator(calibrator))
    return fresh.fit_on(fit).apply(test)


def over_same_rows(models: Sequence[Predictions], rows: Counting = "answered") -> list[Predictions]:
    """Return the models' predictions over common rows, for comparable numbers.

    ``rows`` = "answered": the rows that every model answers. With "all", every row counts. The vector of an abstained
    row (uniform for Meta-Cal) is then a prediction, of the first class if all are equal. The errors of P4 are those of
    this map on all rows. Models that answer all rows are returned unchanged. What can mislead: answered rows are easy
    rows, for the other models, too. If they count as predictions, withheld rows are correct about one time in K and
    calibrated by construction. The error of a model that withholds many rows is then too optimistic. Raises
    NotAnswerable if no row is answered by all.

    References: P4 Table 1, §3 and Proposition 6.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> silent = Predictions([[0.9, 0.1], [0.5, 0.5]], [0, 1], abstained=[False, True])
    >>> [m.accuracy for m in over_same_rows([p, silent])], [m.accuracy for m in over_same_rows([p, silent], "all")]
    ([1.0, 1.0], [0.5, 0.5])
    """
    if rows not in ("answered", "all"):
        raise InputError(f"rows is {rows!r}; it must be 'answered' or 'all'")
    if all(model.abstained is None for model in models):
        return list(models)
    if rows == "all":
        return [m if m.abstained is None else m.with_probs(m.probs).as_discrete(m.discrete) for m in models]
    answered = np.all([~m.abstained for m in models if m.abstained is not None], axis=0)
    if not answered.any():
        raise NotAnswerable("no row is answered by all of these models: choose all rows instead (rows='all')")
    return [model.take(np.flatnonzero(answered)) for model in models]


def over_same_rows_by_name(models: Mapping[str, Predictions], rows: Counting = "answered") -> dict[str, Predictions]:
    """Return the models by name over common rows (``over_same_rows``).

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> over_same_rows_by_name({"a": p})["a"] is p
    True
    """
    return dict(zip(models, over_same_rows(list(models.values()), rows), strict=True))


def rows_among(model: Predictions, others: Sequence[Predictions], rows: Counting = "answered") -> Predictions:
    """One model's rows as a table of it and ``others`` counts them (``over_same_rows``).

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> silent = Predictions([[0.9, 0.1], [0.5, 0.5]], [0, 1], abstained=[False, True])
    >>> rows_among(p, [silent]).n_rows, rows_among(p, [silent], "all").n_rows
    (1, 2)
    """
    return over_same_rows([model, *others], rows)[0]


def rows_said(models: Sequence[Predictions], rows: Counting = "answered") -> str:
    """Sentence on the rows of such a table; empty if every model answers every row.

    >>> silent = Predictions([[0.9, 0.1], [0.5, 0.5]], [0, 1], abstained=[False, True])
    >>> rows_said([silent])
    'Every number is over the 1 of 2 rows that all models answer.'
    """
    if all(model.abstained is None for model in models):
        return ""
    n = models[0].n_rows
    if rows == "all":
        return (
            f"Every number is over all {n:,} rows. If a model abstains on a row, the vector that it returns counts as "
            "its prediction."
        )
    kept = over_same_rows(models, rows)[0].n_rows
    return f"Every number is over the {kept:,} of {n:,} rows that all models answer."


def evaluate(
    fit: Predictions,
    test: Predictions,
    calibrators: Sequence[str | Calibrator] = ("identity", "temperature", "top-label-hb"),
    reductions: Sequence[str | Reduction] | None = None,
    estimators: Sequence[str | Estimator] = ("ece", "mce"),
    bins: int | str | BinningScheme | None = None,
    rows: Counting = "answered",
) -> pd.DataFrame:
    """Fit every calibrator on ``fit`` and evaluate it on ``test`` in every notion by every estimator.

    One row per number: calibrator, reduction, estimator, value, its bins, its rows, and a note instead of a value that
    this combination does not have. The first rows of a calibrator are accuracy, log loss and Brier score, without a
    reduction. For two classes the Brier score is that of the event. Without ``reductions`` these are confidence,
    top-label and class-wise, for two classes the event before them. Without ``bins``, declared discrete outputs have
    one bin per value, others 15 equal-width bins (``binning.bins_of``), so rows can differ in their bins; see the
    column. If a calibrator abstains, all numbers are over the same rows by ``over_same_rows``. ``fit`` and ``test``
    must not share rows: an evaluation on the rows of the fit is too optimistic. Raises InputError if both are the same
    predictions.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> fit, test = p.split(0.5, random_state=0)
    >>> table = evaluate(fit, test, ["identity"], ["confidence"], ["ece"])
    >>> table["estimator"].tolist(), table["bins"].tolist()
    (['accuracy', 'log-loss', 'brier', 'ece'], ['', '', '', '15 equal width'])
    """
    recipes = [CALIBRATORS.recipe(calibrator) for calibrator in calibrators]
    if fit is test and any(CALIBRATORS[recipe.key].flags.output != "same" for recipe in recipes):
        raise InputError("fit and test are the same rows: divide them in two, or evaluate the result of cross_fitted")
    outcomes = [_recalibrated_or_why(fit, test, calibrator) for calibrator in calibrators]
    judged = iter(over_same_rows([outcome for outcome in outcomes if isinstance(outcome, Predictions)], rows))
    of_event = ("event",) if notion_looked_at(test) == "event" else ()
    notions = (*of_event, "confidence", "top-label", "class-wise") if reductions is None else reductions
    brier = notion_of_score("brier", test)
    lines: list[dict[str, Any]] = []
    for recipe, outcome in zip(recipes, outcomes, strict=True):
        name = {"calibrator": recipe.key, "title": recipe.title}
        if isinstance(outcome, str):
            lines.append({**name, "value": float("nan"), "bins": "", "note": outcome})
            continue
        model = next(judged)
        lines += [{**name, "rows": model.n_rows, **line} for line in _judge(model, brier, notions, estimators, bins)]
    frame = pd.DataFrame(
        lines, columns=["calibrator", "title", "reduction", "estimator", "value", "bins", "rows", "note"]
    )
    return frame.astype({"rows": "Int64"})


def _recalibrated_or_why(fit: Predictions, test: Predictions, calibrator: str | Calibrator) -> Predictions | str:
    try:
        return recalibrated(fit, test, calibrator)
    except NotAnswerable as why:
        return str(why)


def _judge(
    judged: Predictions,
    brier: str | None,
    reductions: Sequence[str | Reduction],
    estimators: Sequence[str | Estimator],
    bins: int | str | BinningScheme | None,
) -> Iterable[dict[str, Any]]:
    for key in SCORES:
        notion = brier if key == "brier" else None
        found = _value(judged, None if notion is None else as_reduction(notion), key, None)
        yield {"reduction": notion, "estimator": key, **found}
    for reduction in map(as_reduction, reductions):
        for given in estimators:
            binned = isinstance(given, str) and takes_bins(given, bins)
            keys = {"reduction": REDUCTIONS.recipe(reduction).key, "estimator": ESTIMATORS.recipe(given).key}
            yield {**keys, **_value(judged, reduction, given, bins if binned else None)}


def _value(
    judged: Predictions,
    reduction: Reduction | None,
    estimator: str | Estimator,
    bins: int | str | BinningScheme | None,
) -> dict[str, Any]:
    try:
        found = estimate(judged, reduction, estimator, bins)
    except NotAnswerable as why:
        return {"value": float("nan"), "bins": "", "note": str(why)}
    return {"value": found.value, "bins": found.in_bins, "note": ""}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(OneLine):
    """Claims of two models counted in the same bins, with a label of these bins."""

    before: BinTable
    after: BinTable
    bins: str


def compared(
    before: Predictions,
    after: Predictions,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
) -> Comparison:
    """Compare original and recalibrated model in the same bins, those of the recalibrated outputs if discrete.

    Without ``bins``: if ``after`` is declared discrete and the predicted classes are equal, the groups of rows
    with the same output (P1 App. F, ``binning.tabulate_alike``); else 15 equal-width bins on each model's own
    scores. Given ``bins`` are set on each model's own scores. Rows on which ``after`` abstains are left out of
    both. Any estimator with ``of_table`` then gives both errors. What can mislead: on the other's groups the
    original model's ECE differs from the one in its own bins; use it only in this comparison.

    References: P1 Appendix F.

    >>> base = Predictions.from_confidence([0.9, 0.8], [True, False])
    >>> better = Predictions.from_confidence([0.5, 0.5], [True, False]).as_discrete()
    >>> both = compared(base, better, "confidence")
    >>> both.before.gap.round(2).tolist(), both.after.gap.tolist(), both.bins
    ([[-0.35]], [[0.0]], 'one per value of the recalibrated model (1)')
    """
    if after.abstained is not None:
        before = before.take(np.flatnonzero(~after.abstained))
    notion = as_reduction(reduction)
    old, new = claims_of(before, notion), claims_of(after, notion)
    if bins is None and after.discrete and _same_claims(old, new):
        tables = tabulate_alike(old, new, bins_of(after))
        return Comparison(*tables, f"one per value of the recalibrated model ({int((tables[1].count > 0).sum())})")
    scheme = as_binning(bins)
    first, second = (tabulate(claims, [scheme])[0] for claims in (old, new))
    return Comparison(first, second, bins_said(scheme))


def _same_claims(old: Claims, new: Claims) -> bool:
    """Return True if both make claims about the same outcomes in each stratum."""
    return old.strata == new.strata and all(
        np.array_equal(old.stratum(s).outcomes, new.stratum(s).outcomes) for s in range(len(new.strata))
    )


@dataclass(frozen=True)
class SideEffects:
    """Side effects of a calibrator on decisions, as shares of the test rows.

    ``accuracy_change``: after minus before on the answered rows; ``class_changed``: rows with another predicted
    class; ``abstained``: rows no longer answered. None if the classes are unknown.
    """

    accuracy_change: float
    class_changed: float | None
    abstained: float


def side_effects(before: Predictions, after: Predictions) -> SideEffects:
    """Return the side effects of recalibration on decisions.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> side_effects(p, p)
    SideEffects(accuracy_change=0.0, class_changed=0.0, abstained=0.0)
    """
    changed = None
    if "confidence" not in (before.kind, after.kind):
        other = before.predicted != after.predicted
        answered = np.ones(len(other), dtype=bool) if after.abstained is None else ~after.abstained
        changed = float(np.average(other & answered, weights=after.weights))
    return SideEffects(after.accuracy - before.accuracy, changed, 1.0 - after.coverage)


def ranks(values: pd.DataFrame, measures: Sequence[Measure] | None = None) -> pd.DataFrame:
    """Return the rank of each model (row) in each measure (column), 1 is best; ties get the mean rank, NaN stays NaN.

    >>> ranks(pd.DataFrame({"Accuracy": [0.9, 0.8], "TL-ECE": [0.1, 0.2]})).values.tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    best_high = {m.name for m in measures or every_measure() if m.higher_is_better}
    return pd.DataFrame({name: column.rank(ascending=name not in best_high) for name, column in values.items()})


def summaries(
    predictions: Predictions,
    schemes: Sequence[int | str | BinningScheme | None] = (None,),
    measures: Sequence[Measure] = MEASURES,
) -> list[pd.DataFrame]:
    """Return the measures for each binning scheme, with one pass per notion for all schemes.

    One frame per scheme: measure, value, its bins (empty for scores), and a note if these
    predictions do not have the value. None stands for the default bins of ``estimate``.

    >>> from calib_core.binning import EqualWidth
    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> summaries(p, [EqualWidth(10)])[0]["value"].round(2).tolist()[3:5]
    [0.1, 0.1]
    """
    schemes_of = {m.estimator: [_scheme(predictions, m, given) for given in schemes] for m in measures if m.reduction}
    # Estimators can have different default bins, so every pair of notion and scheme is counted once.
    tables: dict[str, dict[BinningScheme, BinTable] | str] = {}
    for notion in dict.fromkeys(m.reduction for m in measures if m.reduction):
        mine = dict.fromkeys(s for m in measures if m.reduction == notion for s in schemes_of[m.estimator])
        tables[notion] = _tables(predictions, notion, list(mine))
    whole = {m.name: _score(predictions, m.estimator) for m in measures if not m.reduction}
    return [
        pd.DataFrame(
            [
                {
                    "measure": m.name,
                    **(_of_table(tables[m.reduction], schemes_of[m.estimator][i], m) if m.reduction else whole[m.name]),
                }
                for m in measures
            ]
        )
        for i in range(len(schemes))
    ]


def _score(predictions: Predictions, key: str) -> dict[str, Any]:
    """Score of whole predictions; for two classes the Brier score is that of the event."""
    notion = notion_of_score(key, predictions)
    return _value(predictions, None if notion is None else as_reduction(notion), key, None)


def _scheme(predictions: Predictions, measure: Measure, given: int | str | BinningScheme | None) -> BinningScheme:
    """Bins of a measure."""
    return as_binning(own_bins(predictions, measure.estimator) if given is None else given)


def _tables(
    predictions: Predictions, reduction: str, schemes: list[BinningScheme]
) -> dict[BinningScheme, BinTable] | str:
    """Tables of one notion by scheme, or the reason why these predictions make no such claims."""
    try:
        return dict(zip(schemes, tabulate(claims_of(predictions, reduction), schemes), strict=True))
    except NotAnswerable as why:
        return str(why)


def _of_table(tables: dict[BinningScheme, BinTable] | str, scheme: BinningScheme, measure: Measure) -> dict[str, Any]:
    if isinstance(tables, str):
        return {"value": float("nan"), "bins": "", "note": tables}
    estimator: Any = as_estimator(measure.estimator)
    try:
        value = estimator.of_table(tables[scheme]).value
    except NotAnswerable as why:
        return {"value": float("nan"), "bins": "", "note": str(why)}
    return {"value": value, "bins": bins_said(scheme, tables[scheme]), "note": ""}
