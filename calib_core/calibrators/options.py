"""Options that fitting does not read, and calibrators refitted for every number of bins."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from calib_core._base.notebook_display import OneLine
from calib_core._base.sklearn_api import check_is_fitted, clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator, as_calibrator
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Recipe, RegistryError


def with_options(calibrator: Calibrator, **options: Any) -> Calibrator:
    """Return a fitted calibrator with other values of options that only its application reads.

    Such options are marked ``registry.NO_REFIT``; any other parameter raises RegistryError. The given calibrator does
    not change. What can mislead: compositions such as ``ts+KEY`` declare no such options and must be refitted.

    >>> fitted = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 20, [0] * 15 + [1] * 5)
    >>> with_options(fitted, tempo=2)
    Traceback (most recent call last):
    calib_core.registry.registry.RegistryError: 'temperature' has no parameter 'tempo'; its parameters: none
    """
    check_is_fitted(calibrator)
    entry = CALIBRATORS[CALIBRATORS.recipe(calibrator).key]
    changed = copy(calibrator)
    for name, value in options.items():
        param = entry.param(name)
        if param.refits:
            raise RegistryError(f"{name} takes effect when {entry.key!r} is fitted: fit it again")
        param.check(value)
        setattr(changed, name, value)
    return changed


@dataclass(frozen=True, eq=False, repr=False)
class Refits(OneLine):
    """Test rows after a ``calibrator`` that is refitted on the rows ``fit`` for each number of bins."""

    fit: Predictions
    test: Predictions
    calibrator: Recipe

    def after(self, number: int, rows: bool = False) -> Predictions:
        """Return the test rows after a fit with this number of bins (``rows``: of rows per bin)."""
        declared = CALIBRATORS[self.calibrator.key].flags
        name = declared.rows if rows else declared.bins
        if not name:
            raise NotAnswerable(f"{self.calibrator.title} has no parameter for the number of rows per bin")
        kept = dict(self.calibrator.without(declared.bins, declared.rows).params)
        fresh: Calibrator = clone(CALIBRATORS.make(self.calibrator.key, **kept, **{name: number}))
        return fresh.fit_on(self.fit).apply(self.test)

    def _line(self) -> str:
        return f"{self.calibrator.title}, refitted on {self.fit.n_rows:,} rows for every number of bins"


def refitted(fit: Predictions, test: Predictions, calibrator: str | Calibrator) -> Refits:
    """Return test rows after a calibrator that is refitted for every number of bins, for a sweep over them.

    ``calibrator`` declares the parameter for its number of bins; other parameters do not change. Raises NotAnswerable
    if it has no such parameter. What can mislead: the map and the estimator's bins change together, so either can be
    the cause of a lower error at another number.

    References: P1 §4 and App. E.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 50, [0, 0, 0, 1] * 25)
    >>> refitted(p, p, "confidence-hb").after(1).confidence[:2].round(2).tolist()
    [0.75, 0.75]
    """
    recipe = CALIBRATORS.recipe(as_calibrator(calibrator))
    declared = CALIBRATORS[recipe.key].flags
    if not (declared.bins or declared.rows):
        raise NotAnswerable(
            f"{recipe.title} has no number of bins, so one fit is valid for every number: give its predictions instead"
        )
    return Refits(fit, test, recipe)
