"""Before and after: the reliability diagrams of a model and of the same model recalibrated, mark beside mark."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.estimators.default_notion import claimed_rows
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.top import Confidence


@dataclass(frozen=True, eq=False, repr=False)
class Movement(Diagram):
    """Two reliability diagrams, ``before`` and ``after`` recalibration, and where each of their bins went.

    ``notion`` is "confidence", or "event" where both are about the predicted risk of an event.
    """

    before: ReliabilityDiagram
    after: ReliabilityDiagram
    notion: str = "confidence"

    @property
    def same_bins(self) -> bool:
        """Whether both are in the same bins, so that a mark of one has its counterpart in the other."""
        return np.array_equal(self.before.lower, self.after.lower) and np.array_equal(
            self.before.upper, self.after.upper
        )

    def frame(self) -> pd.DataFrame:
        """One line per mark: "before" or "after", and the numbers of its bin; of an event ``risk`` and ``observed``."""
        parts = {"before": self.before.frame(), "after": self.after.frame()}
        every = pd.concat([frame.assign(stage=stage) for stage, frame in parts.items()], ignore_index=True)[
            ["stage", "bin", "lower", "upper", "count", "share", "confidence", "accuracy"]
        ]
        of_event = self.notion == "event"
        return every.rename(columns={"confidence": "risk", "accuracy": "observed"}) if of_event else every

    def steps(self, fewest: int) -> pd.DataFrame:
        """Bins with ``fewest`` rows or more in both: from where to where their marks went; none in different bins.

        Columns bin, confidence, accuracy, and the same with ``_after``.
        """
        frames = (diagram.frame() for diagram in (self.before, self.after))
        old, new = (f.loc[f["count"] >= fewest, ["bin", "confidence", "accuracy"]] for f in frames)
        moved = old.merge(new, on="bin", suffixes=("", "_after"))
        return moved if self.same_bins else moved.iloc[:0]


def movement(
    before: Predictions,
    after: Predictions,
    bins: int | str | BinningScheme | None = None,
    notion: str = "confidence",
) -> Movement:
    """The reliability diagram of a model beside that of the recalibrated model, each over the rows it answers.

    ``bins`` is a number of equal-width bins, a key of BINNINGS or a scheme; None draws 15 of equal width, whatever the
    outputs are declared to be, so that both share their bins. What can mislead: rows change bins, so that a mark and
    its counterpart are not of the same rows.

    With ``notion`` "event" marks are of the predicted risk of the event of two classes, and a mark and its counterpart
    are of the same rows: those of one bin of the risk before recalibration (``binning.risk_bins`` without ``bins``),
    with their mean risk before and after. The observed frequency of a bin stays where no row is left out.

    References: P1 §2.1 for the marks.

    >>> base = Predictions.from_confidence([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    >>> better = Predictions.from_confidence([0.85] * 4, [True, True, True, False])
    >>> movement(base, better, 5).steps(1).values.round(2).tolist()
    [[4.0, 0.9, 0.75, 0.85, 0.75]]
    """
    if notion != "event":
        return Movement(reliability(before, bins), reliability(after, bins))
    if after.abstained is not None:
        answered = np.flatnonzero(~after.abstained)
        before, after = before.take(answered), after.take(answered)
    scheme = risk_bins(Confidence().split(claimed_rows(before, "event")), bins)
    was = reliability(before, scheme, notion="event")
    now = reliability(after, scheme, grouped_by=before, notion="event")
    return Movement(was, replace(now, lower=was.lower, upper=was.upper), "event")
