"""Options that fitting does not read, and calibrators fitted anew for every number of bins."""

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
    """A fitted calibrator with other values of options that it reads when it is applied, without fitting again.

    Such options are declared with the mark ``registry.NO_REFIT``; RegistryError for any other parameter. The calibrator
    given stays as it is. What can mislead: compositions such as ``ts+KEY`` declare none, and are fitted again.

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
            raise RegistryError(f"{name} is read when {entry.key!r} is fitted: fit it again")
        param.check(value)
        setattr(changed, name, value)
    return changed


@dataclass(frozen=True, eq=False, repr=False)
class Refits(OneLine):
    """Test rows after a ``calibrator`` that is fitted on the rows ``fit`` once for each number of bins."""

    fit: Predictions
    test: Predictions
    calibrator: Recipe

    def after(self, number: int, rows: bool = False) -> Predictions:
        """The test rows after a fit with this number of bins; ``rows``: of rows in each bin."""
        declared = CALIBRATORS[self.calibrator.key].flags
        name = declared.rows if rows else declared.bins
        if not name:
            raise NotAnswerable(f"{self.calibrator.title} is not told how many rows each of its bins holds")
        kept = dict(self.calibrator.without(declared.bins, declared.rows).params)
        fresh: Calibrator = clone(CALIBRATORS.make(self.calibrator.key, **kept, **{name: number}))
        return fresh.fit_on(self.fit).apply(self.test)

    def _line(self) -> str:
        return f"{self.calibrator.title}, fitted anew on {self.fit.n_rows:,} rows for every number of bins"


def refitted(fit: Predictions, test: Predictions, calibrator: str | Calibrator) -> Refits:
    """Test rows after a calibrator that is fitted anew for every number of bins, for a sweep over them.

    ``calibrator`` declares how its number of bins is set; its other parameters stay. NotAnswerable for one that has no
    such number. What can mislead: map and judge change together, so a lower error at another number can be either's.

    References: P1 §4 and App. E.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 50, [0, 0, 0, 1] * 25)
    >>> refitted(p, p, "confidence-hb").after(1).confidence[:2].round(2).tolist()
    [0.75, 0.75]
    """
    recipe = CALIBRATORS.recipe(as_calibrator(calibrator))
    declared = CALIBRATORS[recipe.key].flags
    if not (declared.bins or declared.rows):
        raise NotAnswerable(
            f"{recipe.title} has no number of bins, so one fit serves every number: give its predictions themselves"
        )
    return Refits(fit, test, recipe)
