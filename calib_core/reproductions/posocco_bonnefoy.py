"""Estimating expected calibration errors (Posocco and Bonnefoy 2021): the shares of its convex mapping."""

from __future__ import annotations

import numpy as np

from calib_core._arrays import Float64s
from calib_core.binning.allocation import Convex, Split, centres
from calib_core.reproductions.gallery import Progress, reproduction
from calib_core.reproductions.paper_lines import PaperLine, stated


@reproduction("p5-convex-mapping", "Which of two bins gets the larger share", "Definition 5 and Section 4.3",
              (0.1, 0.1), "data=demo:digits-mlp&view=estimators")  # fmt: skip
def convex_mapping(quick: bool, progress: Progress) -> list[PaperLine]:
    """A score between the centres of two bins is shared by them: linear binning, as for kernel densities.

    Shares times centres then give the score back. The authors' published code gives each bin the other's share.
    """
    scores = np.linspace(0, 1, 10_001)
    edges = np.arange(1, 15) / 15
    shares = Convex()(scores, edges)
    between = (scores >= centres(edges)[0]) & (scores <= centres(edges)[-1])
    swapped = Split(shares.first, np.where(between, 1 - shares.beyond, shares.beyond))
    place = "Section 4.3: linear binning in the kernel density estimation field"

    def largest(given: Split) -> float:
        return float(np.abs(_returned(given, edges) - scores)[between].max())

    return [
        stated("Largest distance of shares times centres from the score, as defined", place, largest(shares), "equal",
               0.0),
        stated("The same, with the shares of the published code", place, largest(swapped), "equal", 0.0,
               "the code gives the farther bin the larger share: a score at a bin's centre counts wholly in its "
               "neighbour"),
        stated("Mean sum of a score's shares", "Definition 5: rows sum up to 1",
               float(shares.sums(np.ones_like(scores), 15).sum() / len(scores)), "equal", 1.0),
    ]  # fmt: skip


def _returned(given: Split, edges: Float64s) -> Float64s:
    """The score that shares of bins stand for: the mean of the bins' centres, weighted by them."""
    c = np.append(centres(edges), 0.0)
    return np.asarray((1 - given.beyond) * c[given.first] + given.beyond * c[given.first + 1])
