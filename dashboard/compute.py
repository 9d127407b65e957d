"""The only caching: files by content hash, and everything derived from them by (hash, recipe).

Nothing here lets Streamlit hash data: it looks at a sample of large arrays only, so that two uploads can meet.
Keys are hashes of whole files together with frozen choices; two shelves, for files and for what is derived from
them, forget the least recently used things when they grow past their budget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from calib_core import (
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
from calib_core.binning import BinningScheme
from calib_core.binning import bins_said as in_words
from calib_core.calibrators import Calibrator
from calib_core.estimators import takes_bins
from calib_core.inference import (
    EstimateLine,
    estimate_line,
)
from calib_core.inference.counted import of_counts as counted
from dashboard.selection import (
    Selection,
)
from dashboard.session.models import Model, Models, parts
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


def sharpened(made: Estimate) -> bool:
    """Whether an estimate's interval and noise floor are made already."""
    return made.knows("interval") and made.knows("floor")


def _paired(model: Model, notion: str, scheme: Recipe | None, stratum: int | None) -> diagrams.ValidityPair:
    return diagrams.validity_pair(parts(model.source).test, judged(model), notion, built(scheme), stratum)


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


def _memo(key: Hashable, make: Callable[[], T]) -> T:
    return RESULTS.put(repr(key), make)
