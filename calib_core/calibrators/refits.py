"""A model whose calibrator is fitted anew for every number of bins, as where bins and maps are compared over them."""

from __future__ import annotations

from dataclasses import dataclass

from calib_core._base.notebook_display import OneLine
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator, as_calibrator
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Recipe


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
