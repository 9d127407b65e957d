"""The original model and unchanged scores, as calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core._base.parallel import Progress
from calib_core.calibrators.base import (
    BINARY_CALIBRATORS,
    CALIBRATORS,
    SAME,
    BinaryCalibrator,
    Calibrator,
    Contract,
    Map,
    MapShape,
)
from calib_core.calibrators.insides import Insides
from calib_core.predictions.predictions import Predictions


@CALIBRATORS.register(
    "identity",
    "Original model",
    flags=Contract("same", keeps_argmax=True, sums_to_one=True, monotone=True, needs_matrix=False, keeps_order=True),
)
@dataclass(eq=False, repr=False)
class Identity(Calibrator):
    """Returns the predictions unchanged: the baseline that every calibrator has to beat.

    In published comparisons the best calibrator was worse than none in a quarter to a third of the cases.

    >>> Identity().fit([[0.7, 0.3]], [0]).predict_proba([[0.6, 0.4]]).tolist()
    [[0.6, 0.4]]
    """

    @property
    def reads_counts(self) -> bool:
        return True

    def discrete(self, given: bool = False) -> bool:
        return given

    def insides(self, names: Sequence[str] = ()) -> Insides:
        return Insides("nothing", "Changes no row.")

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        self.n_rows_ = predictions.n_rows

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        return predictions


@BINARY_CALIBRATORS.register("identity", "Unchanged scores", flags=MapShape(counts="cells"))
@dataclass(eq=False, repr=False)
class BinaryIdentity(BinaryCalibrator):
    """Returns every score unchanged.

    >>> BinaryIdentity().fit([0.5], [1]).transform([0.2]).tolist()
    [0.2]
    """

    @property
    def min_rows(self) -> int:
        return 1

    def insides(self) -> Insides:
        return Insides("nothing", "Changes no score.")

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        self.n_rows_ = len(scores)

    def score_map(self) -> Map:
        return SAME

    def _map(self, scores: Floats) -> Float64s:
        return scores.astype(float)
