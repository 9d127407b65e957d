"""Canonical calibration by cells of the simplex: a row gets the class frequencies of its cell (P1 Appendix G)."""

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
from calib_core.calibrators.insides import Insides, Number, Profile, class_names, counted
from calib_core.defaults import ALPHA
from calib_core.guarantees.promise import Promise, no_promise, simplex_promise
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Canonical
from calib_core.registry.registry import Part


@dataclass(eq=False, repr=False)
class SimplexBinning(Calibrator):
    """Replaces a prediction by the frequencies of the classes among the calibration rows of its cell.

    h(p) = 1/n_b sum over the n_b calibration rows of p's cell b of their one-hot labels. A cell without calibration
    rows returns the uniform vector 1/K; the paper prints 1/B, which is no distribution. Rows that a plane was placed on
    are not used (``Projection``). What can mislead: inside a cell all differences between predictions are lost, and
    the predicted class with them; classes beyond four or five leave most cells empty.

    ``cells_`` are the numbers of the cells with rows, ``counts_`` the rows used in each, ``values_`` (B, K) what they
    return, ``planes_`` the planes placed, if any. Every cell's bound follows from its count: ``guarantee``.

    References: P1 Appendix G.

    >>> h = SimplexBinning(Sierpinski(1)).fit([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.4, 0.4, 0.2]], [0, 1, 2])
    >>> h.predict_proba([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]).round(3).tolist()
    [[0.5, 0.5, 0.0], [0.333, 0.333, 0.333]]
    """

    binning: Annotated[SimplexScheme, Part("BINNINGS", of_simplex), "Cells", "how the simplex is cut"] = field(
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
        """The cells, as fitted."""
        check_is_fitted(self)
        return self.binning.partition(self.values_.shape[1], self.planes_)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names or self.names_, self.values_.shape[1])
        cells = counted(len(self.cells_), "cell")

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

        return Insides(cells, f"A row gets the class frequencies of its cell, one of {cells} that hold rows.", numbers)

    def unproven(self) -> str:
        """Why no bound holds for the cells as fitted, in words; empty where one does."""
        check_is_fitted(self)
        if self.dependence:
            return self.dependence
        if self.weighted_:
            return "the calibration rows are weighted, and the bound is for rows that count alike"
        if self.tied_:
            return "calibration rows are tied on a plane, and the bound is for rows within the planes"
        return self.binning.unproven()

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """A bound on the distance of every cell's vector to the truth, cells with too few rows left out by name."""
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
        """What cells with these numbers (m,) return, (m, K), and the calibration rows behind it, (m,)."""
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
    "Replaces a prediction by the class frequencies of its cell, corners of the simplex cut off again and again.",
    SimplexBinning,
    lift="binning",
    reference="P1 App. G.1",
    flags=_flags("Class frequencies in cells cut off at the corners, again and again.", Sierpinski()),
    binning=Sierpinski(),
)
CALIBRATORS.preset(
    "grid",
    "Grid binning",
    "Replaces a prediction by the class frequencies of its cell, every class's probability cut into equal steps.",
    SimplexBinning,
    lift="binning",
    reference="P1 App. G.2",
    flags=_flags("Class frequencies in cells of equal steps of every class's probability.", Grid()),
    binning=Grid(),
)
CALIBRATORS.preset(
    "projection",
    "Projection binning",
    "Replaces a prediction by the class frequencies of its cell, cells cut off one by one to hold about as many rows.",
    SimplexBinning,
    lift="binning",
    reference="P1 Alg. 10",
    flags=_flags("Class frequencies in cells that hold about as many rows each.", Projection()),
    binning=Projection(),
)
