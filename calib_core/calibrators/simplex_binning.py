"""Canonical calibration by cells of the simplex (P1 Appendix G): a row gets the class frequencies of its cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Codes, Float64s, frozen
from calib_core._base.parallel import Progress
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.binning.base import Partition, SimplexScheme, cuts, of_simplex
from calib_core.binning.simplex.cell_table import simplex_points, simplex_table
from calib_core.binning.simplex.grid import Grid
from calib_core.binning.simplex.projection import Projection
from calib_core.binning.simplex.sierpinski import Sierpinski
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.insides import Insides, Number, Profile, class_names
from calib_core.defaults import ALPHA
from calib_core.guarantees.promise import Promise, no_promise, simplex_promise
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Canonical
from calib_core.registry.registry import Part
from calib_core.text import several


@dataclass(eq=False, repr=False)
class SimplexBinning(Calibrator):
    """Replaces a prediction by the class frequencies of the calibration rows in its cell.

    h(p) = 1/n_b sum over the n_b calibration rows of p's cell b of their one-hot labels. A cell without calibration
    rows returns the uniform vector 1/K; the paper has 1/B, which is not a distribution. Rows on which a plane was
    placed are not used (``Projection``). What can mislead: inside a cell all differences between predictions are lost,
    including the predicted class. With more than four or five classes most cells are empty.

    ``cells_`` are the numbers of the cells with rows and ``counts_`` the rows used in each. ``values_`` (B, K) are
    their frequencies; ``planes_`` are the fitted planes, if any. Every cell's bound follows from its count; see
    ``guarantee``.

    References: P1 Appendix G.

    >>> h = SimplexBinning(Sierpinski(1)).fit([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.4, 0.4, 0.2]], [0, 1, 2])
    >>> h.predict_proba([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]).round(3).tolist()
    [[0.5, 0.5, 0.0], [0.333, 0.333, 0.333]]
    """

    binning: Annotated[SimplexScheme, Part("BINNINGS", of_simplex), "Cells", "partition of the simplex"] = field(
        default_factory=Sierpinski
    )

    def discrete(self, given: bool = False) -> bool:
        return True

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        claims = simplex_points(Canonical().split(predictions))
        self.planes_ = self.binning.placed(claims.rows, claims.weights)
        partition = self.binning.partition(claims.rows.shape[1], self.planes_)
        used = replace(claims, weights=partition.interior(claims.rows, claims.weights)).counted()
        table = simplex_table(used, self.binning, partition)
        self.cells_, self.counts_, self.values_ = table.cells, table.count, table.frequency
        self.names_ = predictions.class_names or ()
        self.weighted_ = claims.weights is not None and bool((claims.weights != claims.weights[0]).any())
        self.tied_ = used.weights is not None and bool((used.weights != used.weights[0]).any())

    @property
    def partition(self) -> Partition:
        """Fitted cells."""
        check_is_fitted(self)
        return self.binning.partition(self.values_.shape[1], self.planes_)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names or self.names_, self.values_.shape[1])
        cells = several(len(self.cells_), "cells")

        def numbers() -> list[Number]:
            places = [self.partition.title(int(cell), classes) for cell in self.cells_]
            lines = zip(places, self.counts_, self.values_, strict=True)
            return [
                number
                for place, count, values in lines
                for number in (
                    Number("calibration rows", float(count), place=place),
                    *(Number("frequency", float(v), c, place) for c, v in zip(classes, values, strict=True)),
                )
            ]

        sentence = f"Replaces a row by the class frequencies of its cell; calibration rows are in {cells}."
        return Insides(cells, sentence, numbers)

    def unproven(self) -> str:
        """Reason why no bound is valid for the fitted cells; empty if one is."""
        check_is_fitted(self)
        if self.dependence:
            return self.dependence
        if self.weighted_:
            return "the calibration rows are weighted, and the bound needs rows of equal weight"
        if self.tied_:
            return "calibration rows are tied on a plane, and the bound needs rows strictly between planes"
        return self.binning.unproven()

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Bound on the distance of every cell's vector from the truth; it names excluded cells with too few rows."""
        partition, why = self.partition, self.unproven()
        if why:
            return no_promise(why)
        names = [partition.title(int(cell), self.names_) for cell in self.cells_]
        return simplex_promise(self.counts_, self.values_.shape[1], alpha, names)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        vectors = Canonical().split(predictions)
        simplex_points(vectors)
        values, _ = self.of_cells(self.partition.codes(vectors.rows))
        return predictions.with_probs(frozen(values.astype(vectors.rows.dtype, copy=False)))

    def of_cells(self, cells: Codes) -> tuple[Float64s, Float64s]:
        """Frequencies (m, K) of the cells with these numbers (m,), and their calibration rows (m,)."""
        position = np.minimum(np.searchsorted(self.cells_, cells), len(self.cells_) - 1)
        known = self.cells_[position] == cells
        values = np.where(known[:, None], self.values_[position], 1.0 / self.values_.shape[1])
        return values, np.where(known, self.counts_[position], 0.0)


def _flags(sentence: str, scheme: SimplexScheme) -> Contract:
    profile = Profile("rows", sentence, rows=(0, 0, 50), promises=True)
    return Contract(
        "full", keeps_argmax=False, sums_to_one=True, exported=False, profile=profile, bins=cuts(scheme).bins
    )


CALIBRATORS.preset(
    "sierpinski",
    "Sierpinski binning",
    "Replaces a prediction by the class frequencies of its cell; cells cut corners off the simplex repeatedly.",
    SimplexBinning,
    lift="binning",
    reference="P1 App. G.1",
    flags=_flags("Uses class frequencies in triangular cells, cut off repeatedly at the corners.", Sierpinski()),
    binning=Sierpinski(),
)
CALIBRATORS.preset(
    "grid",
    "Grid binning",
    "Replaces a prediction by the class frequencies of its cell; cells divide every class's probability equally.",
    SimplexBinning,
    lift="binning",
    reference="P1 App. G.2",
    flags=_flags("Uses class frequencies in cells with equal steps of every class's probability.", Grid()),
    binning=Grid(),
)
CALIBRATORS.preset(
    "projection",
    "Projection binning",
    "Replaces a prediction by the class frequencies of its cell; all cells contain about the same number of rows.",
    SimplexBinning,
    lift="binning",
    reference="P1 Alg. 10",
    flags=_flags("Uses class frequencies in cells with about equal numbers of rows.", Projection()),
    binning=Projection(),
)
