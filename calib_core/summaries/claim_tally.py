"""Tally of one notion: sums of its claims, from which binned errors, intervals and noise floors are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import BINS
from calib_core.predictions.predictions import Kind, NotAnswerable, Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, as_reduction, claims_in, claims_of, scope
from calib_core.summaries.cells import CELLS, Cells, PairCells
from calib_core.summaries.counted_claims import CountedClaims, CountedRows, LossSums, claim_losses, loss_sums
from calib_core.summaries.mergeable import MOST_CLASS_CELLS, summable
from calib_core.text import count, inside


@dataclass(frozen=True, eq=False, repr=False)
class ClaimTally(CountedRows, OneLine):
    """Sums of the claims of one ``notion`` over the cells of a fine grid, without the rows.

    ``tally`` creates it, and it has the interface of predictions in its own notion.
    ``estimate(tally, tally.notion, "ece", bins=15)`` is the ``Estimate`` from the rows, with interval, noise floor,
    p-value, verdict and the table of its bins. ``claims`` returns counts and exact sums of scores, outcomes and powers
    of residuals; ``losses`` those of the Brier score, for the test of any miscalibration.
    """

    kind: Kind
    class_names: tuple[str, ...] | None
    notion: Reduction
    counted: CountedClaims
    losses: Mapping[str, LossSums]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.losses["brier"].rows

    def claims(self, notion: Reduction) -> CountedClaims:
        """Return the claims; NotAnswerable for other notions than the tally's own."""
        counted = self.in_own_notion(notion)
        if counted is None:
            raise NotAnswerable(
                f"this tally contains only {self._title} claims. Use its own notion (tally.notion), or create a tally "
                "of the other notion"
            )
        return counted

    def in_own_notion(self, notion: object) -> CountedClaims | None:
        """Return the claims in the tally's own notion."""
        return self.counted if notion == self.notion else None

    @property
    def over_classes(self) -> ClaimTally:
        """Merge the claims of all predicted classes: the tally of confidence from a class-wise one.

        >>> made = tally(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0]), "top-label")
        >>> made.over_classes
        ClaimTally(confidence claims of 2 rows in 1 strata)
        """
        if scope(self.notion).of != "top":
            raise NotAnswerable(
                f"{self._title} claims cannot be merged to those of confidence; create a tally of confidence"
            )
        pooled = CountedClaims(self.counted.cells.over_strata(), ("all rows",), np.ones(1), self.counted.dtype)
        return ClaimTally(self.kind, self.class_names, as_reduction("confidence"), pooled, self.losses)

    def table(self, bins: int | str | BinningScheme = BINS) -> BinTable:
        """Return number, mean score and mean outcome of the claims in each bin of each stratum, with sums in ``tally``.

        >>> made = tally(Predictions([[0.7, 0.3]] * 4, [0, 0, 0, 1]))
        >>> made.table(10).tally.outcome.sum()
        np.float64(3.0)
        """
        return tabulate(self._claims, [as_binning(bins)])[0]

    def covariance(self, bins: int | str | BinningScheme = BINS) -> Float64s:
        """Sums over rows of r_c r_d, with r_c the residuals that a row adds to cell c, (cells, cells), by stratum.

        This is the estimated covariance of the cells' outcome sums. It is diagonal if every row makes one claim.
        NotAnswerable if it is not stored for these bins.

        >>> made = tally(Predictions([[0.75, 0.25]], [0]), "class-wise")
        >>> float(made.covariance(5).sum())  # 0.25 and -0.25: a row's residuals add up to 0
        0.0
        """
        table, known = self.table(bins), self.counted
        if not known.same_rows and known.ranks == 1:
            second: Float64s = table.together(table.moments(self._claims)).second.ravel()
            return second * np.eye(len(second))
        return known.shared(table.edge_sets(known.dtype), table.joined).residual.value

    def mean_loss(self, score: str) -> float:
        """NotAnswerable, because the loss of whole predictions has no notion."""
        raise NotAnswerable(
            f"a tally contains claims of one notion, but the {score} is of whole predictions; use a summary or the rows"
        )

    @property
    def _claims(self) -> Claims:
        known: Claims = claims_in(self.notion, self)
        return known

    @property
    def _title(self) -> str:
        return inside(REDUCTIONS.recipe(self.notion).title)

    def _line(self) -> str:
        return f"{self._title} claims of {self.n_rows:,} rows in {count(len(self.counted.strata))} strata"


def tally(predictions: Predictions | CountedRows, notion: str | Reduction = "confidence") -> ClaimTally:
    """Compute the sums of a notion's claims that binned errors, intervals, noise floors and verdicts need.

    The cells (stratum, bin) belong to a grid with the edges of 1 to 25, 30, 50, 100 and 1,000 bins of equal width. Each
    has the number of claims and exact sums of scores, outcomes, and powers of residuals r = y - s up to 4. It also has
    sums of s (1 - s) and of its square. If rows make several claims (class-wise, top-k), it also has sums over rows of
    products between cells of 10, 15 or 20 bins. There are 20 bins for up to 33 strata, 15 up to 66, 10 up to 100, and 5
    up to 200.

    Parameters
    ----------
    predictions : independent rows of equal weight (whole-number weights count as copies); or a summary, from an array,
        chunks or an engine.
    notion : key of REDUCTIONS or a reduction of binary claims.

    ``estimate`` of a tally equals that of the rows: values and upper ends to the last bit for edges of the grid. For
    more than 50,000 rows, so do lower ends, points, noise floors and verdicts. What can mislead: for fewer rows they
    are simulated from cells instead of individual rows, so they differ as between random seeds. With two classes, the
    measures of all notions share one confidence level. A tally contains one notion, so its own level is slightly
    higher. The event's error is not forced to be at least that of the confidence. NotAnswerable for unequally weighted
    or grouped rows, for whole vectors, and for more than 214 strata.

    >>> from calib_core.estimators import estimate
    >>> rows = Predictions([[0.7, 0.2, 0.1]] * 6 + [[0.2, 0.7, 0.1]] * 4, [0, 1] * 5)
    >>> made = tally(rows, "class-wise")
    >>> made
    ClaimTally(class-wise claims of 10 rows in 3 strata)
    >>> here, there = estimate(made, made.notion, bins=10), estimate(rows, "class-wise", bins=10)
    >>> here.value == there.value, here.interval().high == there.interval().high
    (True, True)
    """
    of = as_reduction(notion)
    if not isinstance(predictions, Predictions):
        known: Any = predictions
        already: Any = claims_of(known, of)
        return ClaimTally(known.kind, known.class_names, of, already, {"brier": known.losses["brier"]})
    rows = summable(predictions)
    claims: Any = claims_of(rows, of)
    strata = len(claims.strata)
    if strata * CELLS > MOST_CLASS_CELLS:
        raise NotAnswerable(
            f"a tally can have {MOST_CLASS_CELLS // CELLS} strata at most, not {count(strata)}. Choose a notion with "
            "fewer (confidence, class-specific), or use the rows"
        )
    ranks = len(claims.scores) // rows.n_rows if scope(of).of == "ranks" else 1
    if claims.same_rows:
        columns = (claims.stratum(s) for s in range(strata))
        cells = Cells.side_by_side([Cells.of(each.scores, each.outcomes) for each in columns])
    else:
        cells = Cells.of(claims.scores, claims.outcomes, claims.codes, strata)
    counted = CountedClaims(
        cells,
        claims.strata,
        claims.shares,
        claims.dtype,
        claims.same_rows,
        claims.floor,
        pairs=PairCells.of(claims, ranks) if claims.same_rows or ranks > 1 else None,
        ranks=ranks,
    )
    whole = loss_sums(rows, "brier") if rows.kind == "full" else claim_losses(rows.confidence, rows.correct)
    return ClaimTally(rows.kind, rows.class_names, of, counted, {"brier": whole})
