"""The only caching: files by content hash, and everything derived from them by (hash, recipe).

Nothing here lets Streamlit hash data: it looks at a sample of large arrays only, so that two uploads can meet.
Keys are hashes of whole files together with frozen choices; two shelves, for files and for what is derived from
them, forget the least recently used things when they grow past their budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import TypeVar

import pandas as pd

from calib_core import (
    CALIBRATORS,
    Estimate,
    InputError,
    NotAnswerable,
    Predictions,
    Recipe,
    diagrams,
    exporting,
    study,
)
from calib_core import estimate as cc_estimate
from calib_core.binning import BinningScheme, bins_of, tabulate
from calib_core.binning import bins_said as in_words
from calib_core.calibrators import Calibrator
from calib_core.estimators import takes_bins
from calib_core.inference import (
    EstimateLine,
    PrimaryLine,
    TestOfCalibration,
    estimate_line,
    kuiper,
    per_class_tests,
    spiegelhalter,
)
from calib_core.inference import primary as _primary
from calib_core.inference.counted import of_counts as counted
from calib_core.inference.primary import ESTIMATOR as PRIMARY
from calib_core.readers import (
    shared_rows,
)
from calib_core.reductions import claims_of
from dashboard.lines import without_bins
from dashboard.selection import (
    Selection,
    Source,
)
from dashboard.session.files import file
from dashboard.session.models import Model, Models, models, parts
from dashboard.session.scene import DECLARED
from dashboard.session.shelf import RESULTS, Missing

T = TypeVar("T")


def _or_why(make: Callable[[], T]) -> T | str:
    """What is made, or the sentence that says why it cannot be; a file that is not here may come back."""
    try:
        return make()
    except Missing:
        raise
    except InputError as why:
        return str(why)


def judged(model: Model) -> Predictions:
    """The test rows after a calibrator fitted on the calibration rows."""
    return RESULTS.get(model.predictions)


def fitted(model: Model) -> Calibrator:
    """The calibrator fitted on the calibration rows."""
    return RESULTS.get(model.fitted)


def no_export(model: Model) -> str:
    """Why the fitted calibrator cannot be written for places without this library; empty where it can."""
    return _memo(("no-export", model), lambda: _no_export(fitted(model)))


def _no_export(calibrator: Calibrator) -> str:
    try:
        exporting.program(calibrator)
    except NotAnswerable as why:
        return str(why)
    return ""


def bins_said(scheme: Recipe | None) -> str:
    """The bins of a choice, for the middle of a sentence."""
    return DECLARED if scheme is None else in_words(scheme.build())


def built(scheme: Recipe | None) -> BinningScheme | None:
    """The bins of a choice; None where each model is judged as its outputs are declared."""
    return None if scheme is None else scheme.build()


def same_rows(selection: Selection, models: Models) -> dict[Model, Predictions]:
    """The models' test rows as a table of them counts them; NotAnswerable where no row is answered by all."""
    return _counted(selection, models)[0]


def rows_said(selection: Selection, models: Models) -> str:
    """Which rows such a table is over, in a sentence; empty where every model answers all."""
    counting: study.Counting = "all" if selection.counting == "all" else "answered"
    return study.rows_said([judged(model) for model in models.shown], counting)


def abstaining(models: Models) -> tuple[Model, ...]:
    """The models that do not answer every row."""
    return tuple(model for model in models.shown if judged(model).abstained is not None)


def _counted(selection: Selection, models: Models) -> tuple[dict[Model, Predictions], Hashable]:
    """The rows of every model, and what tells them apart from other rows of it."""
    silent = abstaining(models)
    if not silent:
        return {model: judged(model) for model in models.shown}, ()
    counting: study.Counting = "all" if selection.counting == "all" else "answered"
    key = ("same rows", models.shown, counting)
    rows = _asked_once(key, lambda: study.over_same_rows([judged(model) for model in models.shown], counting))
    return dict(zip(models.shown, rows, strict=True)), (counting, silent)


def estimate(model: Model, notion: str | None, estimator: str, scheme: Recipe | None) -> Estimate:
    """One estimate, of the whole prediction where notion is None.

    Its interval and noise floor are made when asked, once, and kept with it.
    """
    test, bins = judged(model), scheme if takes_bins(estimator) else None
    key = ("estimate", model, notion, estimator, bins)
    return _asked_once(key, lambda: cc_estimate(test, notion, estimator, built(bins)))


def line(made: Estimate, selection: Selection) -> EstimateLine:
    """An estimate as a line, judged by the tolerance chosen."""
    return estimate_line(made, selection.eps)


def primary(model: Model, selection: Selection) -> PrimaryLine:
    """The line a verdict on a model rests on, in the base model's notion; NotAnswerable says why there is none."""
    scheme, base = selection.scheme, models(selection).shown[0]
    beside = None if model == base else primary(base, selection)
    asked = ("primary", model, scheme, beside and beside.notion)
    first = _asked_once(asked, lambda: _primary(judged(model), bins=built(scheme), beside=beside))
    key = (*asked, selection.eps)
    made = estimate(model, first.notion, PRIMARY, scheme)
    return _memo(key, lambda: dataclasses.replace(first, estimate=made, eps=selection.eps))


def unbinned(model: Model, selection: Selection) -> tuple[str, ...]:
    """Bounds on the error without bins, in the notion of the primary line; NotAnswerable where there are none."""
    notion = primary(model, selection).notion
    return _asked_once(("unbinned", model, notion), lambda: without_bins(judged(model), notion))


def sharpened(made: Estimate) -> bool:
    """Whether an estimate's interval and noise floor are made already."""
    return made.knows("interval") and made.knows("floor")


def class_curve(model: Model, notion: str, c: int, kernel: Recipe, band: str) -> diagrams.KernelCurve:
    """The kernel reliability curve of one class, with its band."""
    key = ("class_curve", model, notion, c, kernel, band)
    return _memo(key, lambda: diagrams.kernel_curve(judged(model), notion, c, kernel.build(), band))


def class_curves(model: Model, notion: str, classes: tuple[int, ...], kernel: Recipe) -> list[diagrams.KernelCurve]:
    """Kernel reliability curves of chosen classes, without bands."""
    return [class_curve(model, notion, c, kernel, "none") for c in classes]


def class_tests(model: Model, notion: str, scheme: Recipe | None) -> pd.DataFrame:
    """A test of calibration for every class, corrected for their number; NotAnswerable for weighted rows."""
    key = ("class_tests", model, notion, scheme)
    return _asked_once(key, lambda: per_class_tests(judged(model), notion, built(scheme)))


def class_pairs(
    model: Model, notion: str, scheme: Recipe | None, classes: tuple[int, ...]
) -> list[diagrams.ValidityPair]:
    """Base model and a recalibrated one on the same bins, class by class."""
    key = ("class_pairs", model, notion, scheme, classes)
    return _asked_once(key, lambda: [_paired(model, notion, scheme, c) for c in classes])


def trade_off(model: Model, notion: str) -> diagrams.TradeOff:
    """What finer bins cost and bring, over repeated splits of the base model's test rows."""
    rows = parts(model.source).test
    key = ("trade_off", model.base, notion)
    return _asked_once(key, lambda: diagrams.trade_off(rows, reduction=notion, repeats=TRIES))


TRIES = 5
"""Splits over which calibrators that bin are compared."""


def error_sweep(models: tuple[Model, ...]) -> diagrams.ErrorSweep:
    """Confidence and top-label ECE of the models for every number of bins, with the base model's noise floor."""
    known = all(judged(model).kind != "confidence" for model in models)
    notions = ("confidence", "top-label") if known else ("confidence",)
    named = {model.title: judged(model) for model in models}
    return _memo(("sweep", tuple(named), models), lambda: diagrams.error_sweep(named, notions))


def validity(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ValidityPlot:
    """V(eps) of a model in one notion, on these bins."""
    return _asked_once(("validity", model, notion, scheme), lambda: _validity(judged(model), notion, scheme))


def _validity(predictions: Predictions, notion: str, scheme: Recipe | None) -> diagrams.ValidityPlot:
    bins = bins_of(predictions, built(scheme))
    return diagrams.validity(tabulate(claims_of(predictions, notion), [bins])[0])


def tests_without_bins(model: Model) -> dict[str, TestOfCalibration | str]:
    """Kuiper's and Spiegelhalter's tests of a model by their calls, or why one of them cannot be made."""
    return _memo(("tests", model), lambda: _tests(judged(model)))


def _tests(predictions: Predictions) -> dict[str, TestOfCalibration | str]:
    asked: dict[str, Callable[[], TestOfCalibration]] = {
        "kuiper({})": lambda: kuiper(predictions),
        "spiegelhalter({})": lambda: spiegelhalter(predictions),
        "spiegelhalter({}, 'log-loss')": lambda: spiegelhalter(predictions, "log-loss"),
    }
    return {call: _or_why(ask) for call, ask in asked.items()}


def validity_pair(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ValidityPair:
    """Base model and a recalibrated one on the same bins: the recalibrated one's values where it is discrete."""
    return _asked_once(("validity pair", model, notion, scheme), lambda: _paired(model, notion, scheme, None))


def _paired(model: Model, notion: str, scheme: Recipe | None, stratum: int | None) -> diagrams.ValidityPair:
    return diagrams.validity_pair(parts(model.source).test, judged(model), notion, built(scheme), stratum)


# -- the triangle ---------------------------------------------------------------------------------------------


def recalibration(model: Model, scheme: Recipe) -> diagrams.RecalibrationDiagram:
    """A model's test rows in the cells of a partition, and what the calibration rows say of each cell."""
    return _asked_once(("recalibration", model, scheme), lambda: _recalibration(model, scheme))


def _recalibration(model: Model, scheme: Recipe) -> diagrams.RecalibrationDiagram:
    calibration_rows = fitted(model).apply(parts(model.source).fit)
    return diagrams.recalibration(scheme.build(), calibration_rows, judged(model))


def canonical_validity(model: Model, scheme: Recipe) -> diagrams.ValidityPair:
    """V(eps) of a model and of the model recalibrated cell by cell, on the same cells."""
    return _asked_once(("canonical validity", model, scheme), lambda: _canonical_validity(model, scheme))


def _canonical_validity(model: Model, scheme: Recipe) -> diagrams.ValidityPair:
    calibration_rows = fitted(model).apply(parts(model.source).fit)
    after = by_cell(scheme).build().fit_on(calibration_rows)
    before = judged(model)
    return diagrams.canonical_validity(before, after.apply(before), scheme.build(), calibration_rows)


def by_cell(scheme: Recipe) -> Recipe:
    """The calibrator that recalibrates cell by cell of a partition."""
    return CALIBRATORS.described(scheme.key, **dict(scheme.params))


def calibration_map(model: Model) -> diagrams.CalibrationMap:
    """Where a model's calibrator sends the points of the triangle; NotAnswerable says why it has no such map."""
    return _asked_once(("calibration map", model, model.title), lambda: _calibration_map(model))


def _calibration_map(model: Model) -> diagrams.CalibrationMap:
    names = parts(model.source).fit.class_names or ()
    return diagrams.calibration_map(fitted(model), title=model.title, class_names=names)


def true_map(source: Source) -> diagrams.CalibrationMap | None:
    """The true map of data whose truth is known."""
    held = file(source.data)
    truth = held.demo.truth if held.demo else None
    if truth is None or source.test or source.reading or source.corners:
        return None
    return diagrams.true_map(truth, class_names=parts(source).test.class_names or ())


def _asked_once(key: Hashable, make: Callable[[], T]) -> T:
    """A value made once; NotAnswerable with the same sentence every time where it cannot be made."""
    made = _memo(key, lambda: _or_why(make))
    if isinstance(made, str):
        raise NotAnswerable(made)
    return made


def of_counts(made: Estimate) -> bool:
    """Whether a resample of this estimate costs the counts of its bins only."""
    asked = made.question
    try:
        return asked is not None and asked.reduction is not None and counted(asked.estimator, asked.claims) is not None
    except NotAnswerable:
        return False


def class_table(model: Model, notion: str, scheme: Recipe | None) -> diagrams.ClassTable:
    """All classes of a model with their rows, share and error."""
    key = ("class_table", model, notion, scheme)
    return _memo(key, lambda: diagrams.class_table(judged(model), notion, built(scheme)))


def class_panels(model: Model, notion: str, scheme: Recipe | None, classes: tuple[int, ...]) -> diagrams.ClassPanels:
    """Small diagrams of chosen classes of a model."""
    key = ("class_panels", model, notion, scheme, classes)
    return _memo(key, lambda: diagrams.class_panels(judged(model), classes, notion, built(scheme)))


def _memo(key: Hashable, make: Callable[[], T]) -> T:
    return RESULTS.put(repr(key), make)


def shared(source: Source) -> int:
    """Number of test rows that are also calibration rows, score for score and label for label."""
    return _memo(("shared", source), lambda: shared_rows(parts(source).fit, parts(source).test))
